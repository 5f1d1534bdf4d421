/** Training steps of each kind of layer and optimizer: the second function finds the trace of the first. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { nn, optim, randn, seed, type Tensor, tidy, toStatic } from '../../src/node/index.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tostatic-cache-'));
  vi.stubEnv('TOSTATIC_CACHE', folder);
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

type Forward = (x: Tensor) => Tensor;

interface Net {
  readonly model: nn.Module;
  readonly forward: Forward;
  readonly shape: readonly number[];
}

function net<M extends nn.Module>(
  model: M,
  shape: readonly number[],
  forward: (model: M, x: Tensor) => Tensor,
): Net {
  return { model, shape, forward: (x) => forward(model, x) };
}

const sequence = (...layers: nn.Module[]) => new nn.Sequential(...(layers as nn.Linear[]));

const nets: Readonly<Record<string, () => Net>> = {
  convolutions: () =>
    net(
      sequence(
        new nn.Conv2d(1, 4, 3, { padding: 1 }),
        new nn.BatchNorm2d(4),
        new nn.ReLU(),
        new nn.MaxPool2d(2),
        new nn.Flatten(),
        new nn.Linear(64, 3),
      ),
      [2, 1, 8, 8],
      (model, x) => model.forward(x),
    ),
  transposed: () =>
    net(new nn.ConvTranspose2d(1, 2, 3), [2, 1, 8, 8], (model, x) => model.forward(x)),
  lstm: () => net(new nn.LSTM(3, 4), [5, 2, 3], (model, x) => model.forward(x)[0]),
  gru: () => net(new nn.GRU(3, 4), [5, 2, 3], (model, x) => model.forward(x)[0]),
  // Its backward reads strided memory.
  attention: () =>
    net(new nn.MultiheadAttention(8, 2), [5, 2, 8], (model, x) => model.forward(x, x, x)[0]),
  // It draws random numbers at another place of the stream in each run.
  dropout: () =>
    net(sequence(new nn.Linear(3, 4), new nn.Dropout(0.5)), [2, 3], (model, x) => model.forward(x)),
  encoder: () =>
    net(new nn.TransformerEncoderLayer(8, 2), [5, 2, 8], (model, x) => model.forward(x)),
  norms: () =>
    net(
      sequence(new nn.GroupNorm(2, 4), new nn.AdaptiveAvgPool2d(1), new nn.Flatten()),
      [2, 4, 5, 5],
      (model, x) => model.forward(x),
    ),
};

type Parameters = readonly nn.Parameter[];

const optimizers: Readonly<Record<string, (of: Parameters) => optim.Optimizer>> = {
  sgd: (of) => new optim.SGD(of, { lr: 0.1, momentum: 0.9, weightDecay: 0.1 }),
  adam: (of) => new optim.Adam(of, { lr: 0.01 }),
  adamw: (of) => new optim.AdamW(of),
  rmsprop: (of) => new optim.RMSprop(of),
  adagrad: (of) => new optim.Adagrad(of),
  nadam: (of) => new optim.NAdam(of),
};

/** The losses of three steps, by the eager function or a captured one. */
function losses(make: () => Net, optimizerOf: (of: Parameters) => optim.Optimizer, way: Way) {
  seed(1);
  const { model, forward, shape } = make();
  const x = randn(shape);
  const optimizer = optimizerOf(model.parameters());
  const step = (batch: Tensor): Tensor => {
    const loss = forward(batch).square().mean();
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  const captured = toStatic(step, { strict: true });
  const run = way === 'eager' ? step : captured;
  const found = [1, 2, 3].map(() => tidy(() => run(x).itemSync()));
  for (const each of [x, optimizer, model]) each.dispose();
  return { found, stats: captured.stats() };
}

type Way = 'eager' | 'captured';

function expectKnown(make: () => Net, optimizerOf: (of: Parameters) => optim.Optimizer): void {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const { found } = losses(make, optimizerOf, 'eager');
  const first = losses(make, optimizerOf, 'captured');
  expect(first.found).toEqual(found);
  expect(first.stats.unkeptTraces).toBeUndefined();
  const second = losses(make, optimizerOf, 'captured');
  expect(second.found).toEqual(found);
  expect(second.stats).toMatchObject({ translations: 0 });
  expect(second.stats.knownTraces).toBeGreaterThan(0);
  expect(warn.mock.calls).toEqual([]);
}

describe('process-cache/layers', () => {
  it.each(Object.entries(nets))('%s', (_name, make) => expectKnown(make, optimizers.adam!));

  it.each(Object.entries(optimizers))('%s', (_name, optimizerOf) =>
    expectKnown(nets.convolutions!, optimizerOf),
  );
});
