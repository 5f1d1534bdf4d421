/** A wrong input to a layer of a model: the error names the layer, what it takes and what it was given. */

import { describe, expect, it } from 'vitest';
import {
  nn,
  ShapeError,
  type Tensor,
  TostaticError,
  tensor,
  tidy,
  toStatic,
  zeros,
} from '../../src/index.ts';

/** Layers that take one tensor, each with an input that it rejects. */
const layers: readonly (readonly [nn.Layer, readonly number[]])[] = [
  [new nn.Linear(4, 3), [2, 5]],
  [new nn.Conv1d(2, 3, 3), [2, 5, 8]],
  [new nn.Conv2d(2, 3, 3), [2, 5, 8, 8]],
  [new nn.ConvTranspose1d(2, 3, 3), [2, 5, 8]],
  [new nn.ConvTranspose2d(2, 3, 3), [2, 5, 8, 8]],
  [new nn.Unfold(3), [4]],
  [new nn.MaxPool1d(2), [4]],
  [new nn.MaxPool2d(2), [4, 4]],
  [new nn.AvgPool1d(2), [4]],
  [new nn.AvgPool2d(2), [4, 4]],
  [new nn.AvgPool3d(2), [4, 4]],
  [new nn.AdaptiveAvgPool1d(2), [4]],
  [new nn.AdaptiveAvgPool2d(2), [4]],
  [new nn.AdaptiveMaxPool1d(2), [4]],
  [new nn.AdaptiveMaxPool2d(2), [4]],
  [new nn.BatchNorm1d(3), [2, 5]],
  [new nn.BatchNorm2d(3), [2, 5, 4, 4]],
  [new nn.BatchNorm3d(3), [2, 5, 4, 4, 4]],
  [new nn.InstanceNorm1d(3), [2, 5]],
  [new nn.InstanceNorm2d(3), [2, 5]],
  [new nn.GroupNorm(2, 4), [2, 5]],
  [new nn.LayerNorm(4), [2, 5]],
  [new nn.RMSNorm(4), [2, 5]],
  [new nn.LocalResponseNorm(2), [4]],
  [new nn.Dropout1d(0.5), [4]],
  [new nn.Dropout2d(0.5), [4]],
  [new nn.PReLU(3), [2, 5]],
  [new nn.GLU(), [2, 5]],
  [new nn.Softmax(3), [2, 5]],
  [new nn.LogSoftmax(3), [2, 5]],
  [new nn.Softmax2d(), [5]],
  [new nn.Flatten(3), [2, 5]],
  [new nn.Unflatten(1, [2, 3]), [2, 5]],
  [new nn.PixelShuffle(2), [2, 5]],
  [new nn.PixelUnshuffle(2), [5]],
  [new nn.ChannelShuffle(2), [2, 5, 4, 4]],
  [new nn.Upsample({ scaleFactor: 2 }), [5]],
  [new nn.ReflectionPad2d(9), [1, 1, 2, 2]],
  [new nn.Embedding(3, 4), [2]],
];

function errorOf(run: () => unknown): TostaticError {
  try {
    run();
  } catch (error) {
    if (error instanceof TostaticError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('a wrong input to a layer of Sequential', () => {
  it.each(layers.map(([layer, shape]) => [layer.constructor.name, layer, shape] as const))(
    '%s is named, captured as eagerly',
    (name, layer, shape) => {
      tidy(() => {
        const model = new nn.Sequential(new nn.Identity(), new nn.Sequential(layer));
        const eager = errorOf(() => model.forward(zeros(shape)));
        expect(eager.layer).toBe('1.0');
        expect(eager.message.split('\n')[1]).toMatch(
          new RegExp(`^  layer:    1\\.0 \\(${name}[()]`),
        );
        expect(eager.stack).toContain('  layer:    1.0 (');
        for (const options of [{}, { fullGraph: true }]) {
          const captured = toStatic((x: Tensor) => model.forward(x), options);
          for (let call = 0; call < 2; call++) {
            const found = errorOf(() => captured(zeros(shape)));
            // With `fullGraph` the message ends in the user's lines.
            const own = (text: string) =>
              text.replace(/^ {2}at: .*\n/m, '').replace(/\n +\d+ \| .*/g, '');
            expect(own(found.message)).toBe(own(eager.message));
            expect(found.at?.file).toBe(import.meta.filename);
          }
        }
        return null;
      });
    },
  );

  it('says sizes and where the user called', () => {
    const model = new nn.Sequential(new nn.Linear(4, 3), new nn.ReLU(), new nn.Linear(5, 2));
    const error = errorOf(() => model.forward(zeros([2, 4])));
    expect(error).toBeInstanceOf(ShapeError);
    expect(error.message.split('\n')).toEqual([
      'linear: the layer takes 5 features, not 3',
      '  layer:    2 (Linear(weight: f32[2,5], bias: f32[2]))',
      '  given:    input f32[2,3] for a weight f32[2,5]',
      '  expected: [..., 5], which becomes [..., 2]',
      expect.stringMatching(/^ {2}at: {7}.*layer-errors\.test\.ts:\d+:\d+$/),
      expect.stringMatching(/^ {2}remedy: {3}/),
    ]);
  });

  it('at any depth of layers, the place is the line that calls the model', () => {
    const lines = new Set<number | undefined>();
    for (const depth of [0, 3, 6, 12, 24]) {
      let model: nn.Module & { forward(x: Tensor): Tensor } = new nn.Linear(5, 2);
      for (let i = 0; i < depth; i++) model = new nn.Sequential(model);
      for (const run of [model, toStatic(model)]) {
        const { at } = errorOf(() => run.forward(zeros([2, 4])));
        expect(at?.file).toBe(import.meta.filename);
        lines.add(at?.line);
      }
    }
    expect(lines.size).toBe(1);
  });

  it('in a module of the user, the place is the line that calls the layer', () => {
    class Net extends nn.Module {
      first = new nn.Linear(4, 3);
      second = new nn.Linear(5, 2);
      override forward(x: Tensor): Tensor {
        const hidden = this.first.forward(x).relu();
        return this.second.forward(hidden);
      }
    }
    const net = new Net();
    const eager = errorOf(() => net.forward(zeros([2, 4])));
    const captured = errorOf(() => toStatic(net).forward(zeros([2, 4])));
    expect(captured.message).toBe(eager.message);
    expect(eager.at?.file).toBe(import.meta.filename);
    expect(eager.layer).toBeUndefined();
  });

  it('leaves errors of other kinds as they are', () => {
    class Broken extends nn.Module {
      override forward(): Tensor {
        throw new RangeError('mine');
      }
    }
    const model = new nn.Sequential(new Broken());
    expect(() => model.forward(tensor([1]))).toThrow(new RangeError('mine'));
    expect(() => toStatic(model).forward(tensor([1]))).toThrow(new RangeError('mine'));
  });
});
