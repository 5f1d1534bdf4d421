import { describe, expect, it } from 'vitest';
import { Adagrad, Adam, RMSprop, SGD } from '../../runtime/optim/index.ts';
import type { Optimizer } from '../../runtime/optim/optimizer.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { expectClose, type Tensor, tensor } from '../ops/eager.ts';
import { readRecords } from '../ops/recorded.ts';
import { type RecordedSteps, replay } from './recorded-steps.ts';

const makers: Readonly<Record<string, (parameters: Tensor[], options: object) => Optimizer>> = {
  Adam: (parameters, options) => new Adam(parameters, options),
  RMSprop: (parameters, options) => new RMSprop(parameters, options),
};

describe("variants of optimizers follow PyTorch's recorded steps", () => {
  const records = readRecords<RecordedSteps & { readonly options: object }>(
    new URL('data/pytorch-variants.jsonl', import.meta.url),
  );
  for (const record of records) {
    it(`${record.name} ${JSON.stringify(record.options)}`, () => {
      replay(record, (parameters) => makers[record.name]!(parameters, record.options));
    });
  }
});

/** The parameter after each of some gradients. */
function path(make: (x: Tensor) => Optimizer, gradients: readonly number[]): number[] {
  using x = tensor([1], { requiresGrad: true });
  using optimizer = make(x);
  return gradients.map((gradient) => {
    tidy(() => x.mul(gradient).sum().backward());
    optimizer.step();
    optimizer.zeroGrad();
    return x.itemSync();
  });
}

describe('formulas', () => {
  it('Adagrad divides by the root of the sum of squares, at a rate that decays', () => {
    const gradients = [3, -4, 1];
    let [x, sum] = [1, 0.5];
    const expected = gradients.map((gradient, step) => {
      const slope = gradient + 0.1 * x;
      sum += slope * slope;
      x -= ((0.2 / (1 + step * 0.5)) * slope) / (Math.sqrt(sum) + 1e-10);
      return x;
    });
    const options = { lr: 0.2, lrDecay: 0.5, weightDecay: 0.1, initialAccumulator: 0.5 };
    expectClose(
      path((own) => new Adagrad([own], options), gradients),
      expected,
      'x',
    );
  });

  it('plain RMSprop divides by the root of the average of squares', () => {
    let [x, square] = [1, 0];
    const expected = [3, -4].map((gradient) => {
      square = 0.9 * square + 0.1 * gradient * gradient;
      x -= (0.2 * gradient) / (Math.sqrt(square) + 1e-8);
      return x;
    });
    expectClose(
      path((own) => new RMSprop([own], { lr: 0.2, alpha: 0.9 }), [3, -4]),
      expected,
      'x',
    );
  });

  it('SGD dampens all gradients but the first', () => {
    // v: 3, then 0.9·3 + 0.5·(−4) = 0.7
    const options = { lr: 0.1, momentum: 0.9, dampening: 0.5 };
    expectClose(
      path((own) => new SGD([own], options), [3, -4]),
      [0.7, 0.63],
      'x',
    );
    using x = tensor([1], { requiresGrad: true });
    expect(() => new SGD([x], { ...options, nesterov: true })).toThrow('dampening = 0.5');
  });

  it('steps without a gradient do not count for the bias correction', () => {
    using x = tensor([1], { requiresGrad: true });
    using y = tensor([1], { requiresGrad: true });
    using optimizer = new Adam([x, y], { lr: 0.1 });
    for (const own of [x, x, y]) {
      tidy(() => own.mul(5).sum().backward());
      optimizer.step();
      optimizer.zeroGrad();
    }
    expect(optimizer.counts).toEqual([2, 1]);
    // Its first step, which is the rate.
    expectClose(y.dataSync(), [0.9], 'y');
  });
});
