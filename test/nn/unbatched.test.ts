/** Layers take a single sample without its batch dimension, as in PyTorch, and return what a batch of one gives. */

import { describe, expect, it } from 'vitest';
import { nn, rand, type Tensor, tensor, tidy, toStatic } from '../../src/index.ts';

/** Runs a layer on a batch of one: tensors get the dimension before, and results lose it after. */
interface Example {
  readonly make: () => nn.Module;
  readonly call: (layer: never, at: Batch) => unknown;
}

/** With or without the batch dimension. */
type Batch = (x: Tensor, dim?: number) => Tensor;

const alone: Batch = (x) => x;
const ofOne: Batch = (x, dim = 0) => x.unsqueeze(dim);

const sequence = rand([4, 3]);
const states = [rand([4, 5]), rand([4, 5])] as const;
const [query, keys] = [rand([3, 6]), rand([4, 6])];
const padding = tensor([false, true, false, false]);
const mask = rand([2, 3, 4]);

const examples: Readonly<Record<string, Example>> = {
  ...Object.fromEntries(
    [true, false].flatMap((batchFirst) => {
      const options = { batchFirst, bidirectional: true, numLayers: 2 };
      const at = batchFirst ? 0 : 1;
      const [h, c] = states;
      return [
        [
          `LSTM, batchFirst ${batchFirst}`,
          {
            make: () => new nn.LSTM(3, 5, options),
            call: (layer: nn.LSTM, b: Batch) => {
              const [y, state] = layer.forward(b(sequence, at), [b(h, 1), b(c, 1)]);
              return b === alone
                ? [y, ...state]
                : [y.squeeze(at), ...state.map((s) => s.squeeze(1))];
            },
          },
        ],
        [
          `GRU, batchFirst ${batchFirst}`,
          {
            make: () => new nn.GRU(3, 5, options),
            call: (layer: nn.GRU, b: Batch) => {
              const [y, last] = layer.forward(b(sequence, at), b(h, 1));
              return b === alone ? [y, last] : [y.squeeze(at), last.squeeze(1)];
            },
          },
        ],
        [
          `RNN without a state, batchFirst ${batchFirst}`,
          {
            make: () => new nn.RNN(3, 5, options),
            call: (layer: nn.RNN, b: Batch) => {
              const [y, last] = layer.forward(b(sequence, at));
              return b === alone ? [y, last] : [y.squeeze(at), last.squeeze(1)];
            },
          },
        ],
        [
          `MultiheadAttention with masks, batchFirst ${batchFirst}`,
          {
            make: () => new nn.MultiheadAttention(6, 2, { batchFirst, addBiasKv: true }),
            call: (layer: nn.MultiheadAttention, b: Batch) => {
              const k = b(keys, at);
              const masks = { attnMask: mask, keyPaddingMask: b(padding) };
              const [y, weights] = layer.forward(b(query, at), k, k, masks);
              return b === alone ? [y, weights!] : [y.squeeze(at), weights!.squeeze(0)];
            },
          },
        ],
        [
          `TransformerEncoderLayer, batchFirst ${batchFirst}`,
          {
            make: () =>
              new nn.TransformerEncoderLayer(6, 2, { batchFirst, dropout: 0, bias: false }),
            call: (layer: nn.TransformerEncoderLayer, b: Batch) => {
              const y = layer.forward(b(query, at));
              return b === alone ? [y] : [y.squeeze(at)];
            },
          },
        ],
      ] as [string, Example][];
    }),
  ),
  ...Object.fromEntries(
    (
      [
        ['InstanceNorm1d', () => new nn.InstanceNorm1d(4, { affine: true }), [4, 6]],
        ['InstanceNorm2d', () => new nn.InstanceNorm2d(4, { trackRunningStats: true }), [4, 3, 2]],
        ['InstanceNorm3d', () => new nn.InstanceNorm3d(4), [4, 3, 2, 2]],
        ['PixelShuffle', () => new nn.PixelShuffle(2), [4, 3, 2]],
        ['PixelUnshuffle', () => new nn.PixelUnshuffle(2), [3, 4, 2]],
        ['Conv2d', () => new nn.Conv2d(4, 2, 2), [4, 3, 3]],
        ['ConvTranspose1d', () => new nn.ConvTranspose1d(4, 2, 2), [4, 3]],
        ['MaxPool2d', () => new nn.MaxPool2d(2), [4, 4, 4]],
        ['AvgPool1d', () => new nn.AvgPool1d(2), [4, 4]],
        ['LPPool1d', () => new nn.LPPool1d(2, 2, { ceilMode: true }), [4, 5]],
        ['LPPool3d', () => new nn.LPPool3d(2, [1, 2, 2]), [4, 2, 4, 4]],
        ['AdaptiveAvgPool2d', () => new nn.AdaptiveAvgPool2d(2), [4, 4, 4]],
        ['ReflectionPad2d', () => new nn.ReflectionPad2d(1), [4, 4, 4]],
        ['CircularPad1d', () => new nn.CircularPad1d(1), [4, 4]],
      ] as [string, () => nn.Layer, number[]][]
    ).map(([name, make, shape]) => {
      const x = rand(shape);
      const call = (layer: nn.Layer, b: Batch) => {
        const y = layer.forward(b(x));
        return b === alone ? [y] : [y.squeeze(0)];
      };
      return [name, { make, call }];
    }),
  ),
};

describe.each(Object.entries(examples))('%s', (_name, { make, call }) => {
  it('is the same without a batch as in a batch of one, eagerly and captured', () => {
    const layer = make();
    const twin = make();
    twin.loadStateDict(layer.stateDict());
    const outcome = (own: nn.Module, run: () => unknown) =>
      tidy(() => {
        const results = run() as Tensor[];
        own.zeroGrad();
        if (results[0]!.requiresGrad)
          results
            .map((y) => y.square().sum())
            .reduce((a, b) => a.add(b))
            .backward();
        const tensors = [...results, ...own.parameters().map((p) => p.grad!), ...own.buffers()];
        return tensors.map((t) => [t.shape, t.tolist()]);
      });
    const expected = outcome(twin, () => call(twin as never, ofOne));
    const captured = toStatic(() => call(layer as never, alone));
    expect(outcome(layer, () => captured())).toEqual(expected);
    const third = make();
    third.loadStateDict(layer.stateDict());
    third.eval();
    twin.loadStateDict(layer.stateDict());
    twin.eval();
    expect(outcome(third, () => call(third as never, alone))).toEqual(
      outcome(twin, () => call(twin as never, ofOne)),
    );
    for (const own of [layer, twin, third]) own.dispose();
  });
});
