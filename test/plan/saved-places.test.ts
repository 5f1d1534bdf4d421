/** Places of max-pooling in 8 bits: fewer bytes are kept, and values and gradients have eager execution's bits. */

import { describe, expect, it } from 'vitest';
import { appliedTo } from '../../src/explain/applied.ts';
import {
  crossEntropy,
  type DType,
  grad,
  maxPool1d,
  maxPool2d,
  memoryPresets,
  nn,
  optim,
  randn,
  refcounted,
  seed,
  type Tensor,
  type ToStaticOptions,
  tensor,
  toStatic,
} from '../../src/index.ts';
import {
  expectBytesAsBefore,
  type Loss,
  type LossCase,
  numbersOf,
  outcome,
} from './saved-values.ts';

expectBytesAsBefore();

/** What is pooled is multiplied before and behind, so that backward reads more than the pooling. */
const around =
  (pool: Loss): Loss =>
  (x) =>
    pool(x.mul(2)).exp().mean();

const losses: Record<string, LossCase> = {
  'windows side by side': { run: around((x) => maxPool2d(x, 2)), shape: [2, 3, 12, 10] },
  'overlapping windows with padding': {
    run: around((x) => maxPool2d(x, 3, { stride: 2, padding: 1 })),
    shape: [2, 3, 11, 13],
  },
  'dilated windows that hang over the end': {
    run: around((x) => maxPool2d(x, [2, 3], { dilation: 2, stride: [3, 2], ceilMode: true })),
    shape: [1, 2, 14, 15],
  },
  'one dimension': { run: around((x) => maxPool1d(x, 4)), shape: [3, 5, 64] },
  'the widest plane whose places fit': {
    run: around((x) => maxPool2d(x, 2)),
    shape: [1, 1, 4, 254],
  },
};

function inputOf(shape: readonly number[], dtype: DType, special: boolean): Tensor {
  const size = shape.reduce((a, b) => a * b, 1);
  const values = Array.from({ length: size }, (_, i) => (((i * 37) % 23) - 11) / 16);
  if (special) [values[3], values[5], values[8]] = [Number.NaN, Number.POSITIVE_INFINITY, -0];
  return tensor(values, { dtype, shape: [...shape] }).requiresGrad_();
}

describe('plan/saved-places', () => {
  for (const [name, { run, shape }] of Object.entries(losses)) {
    it.each(['float32', 'float64', 'bfloat16'] as const)(`${name}, %s`, (dtype) => {
      for (const special of [false, true]) {
        const x = inputOf(shape, dtype, special);
        const traced = toStatic(run);
        const plainly = toStatic(run, { memory: { savedPlaces: false } });
        const [eager, plain, coded] = [
          outcome(refcounted(run), x),
          outcome(plainly, x),
          outcome(traced, x),
        ];
        const part = traced.programs()[0]!;
        expect(appliedTo(part)!.savedPlaces).toBe(1);
        expect(coded.found).toEqual(eager.found);
        expect(plain.found).toEqual(eager.found);
        expect(coded.kept).toBeLessThan(plain.kept);
        expect(coded.peak).toBeLessThan(plain.peak);
        expect(coded.peak).toBe(part.record.planned!.forward.predicted.peakBytes);
        x.dispose();
      }
    });

    it(`${name}: gradients of gradients`, () => {
      const second = (fn: Loss) =>
        numbersOf(() => {
          const x = inputOf(shape, 'float32', false);
          const y = fn(x);
          const [slope] = grad(y.mul(y), [x], { createGraph: true });
          return [y, slope!, ...grad(slope!.pow(2).sum(), [x])];
        });
      const traced = toStatic(run);
      expect(second(traced)).toEqual(second(run));
      expect(appliedTo(traced.programs()[0]!)!.savedPlaces).toBe(1);
    });
  }

  it('planes of other sizes, with dynamic dimensions', () => {
    const run = around((x) => maxPool2d(x, 3, { stride: 2, padding: 1 }));
    const traced = toStatic(run, { dynamic: true });
    for (const shape of [
      [2, 3, 12, 10],
      [2, 3, 9, 14],
      [1, 3, 20, 7],
    ]) {
      const x = inputOf(shape, 'float32', false);
      expect(outcome(traced, x).found).toEqual(outcome(refcounted(run), x).found);
      x.dispose();
    }
    for (const part of traced.programs()) expect(appliedTo(part)!.savedPlaces).toBe(1);
  });

  it('a whole training step keeps them in 8 bits between forward and backward', () => {
    const train = (savedPlaces: boolean) => {
      seed(1);
      const model = new nn.Sequential(
        new nn.MaxPool2d(2),
        new nn.Conv2d(2, 2, 3, { padding: 1 }),
        new nn.MaxPool2d(2),
        new nn.Conv2d(2, 24, 1),
        new nn.Tanh(),
        new nn.Flatten(),
        new nn.Linear(24 * 4 * 4, 5),
      );
      const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
      const scale = nn.parameter(randn([2, 16, 16]));
      const step = toStatic(
        (x: Tensor, labels: Tensor) => {
          const loss = crossEntropy(model.forward(x.mul(scale)), labels);
          loss.backward();
          optimizer.step();
          optimizer.zeroGrad();
          scale.grad = null;
          return loss;
        },
        { memory: { prefer: 'bytes', slices: false, savedPlaces }, check: 2 },
      );
      const x = randn([16, 2, 16, 16]);
      const labels = tensor(Int32Array.from({ length: 16 }, (_, i) => i % 5));
      const values = [0, 1].map(() => {
        const loss = step(x, labels);
        const value = loss.itemSync();
        loss.dispose();
        return value;
      });
      const part = step.programs()[0]!;
      for (const each of [x, labels, optimizer, model, scale]) each.dispose();
      const { peakBytes } = part.stages!.planned.forward.predicted;
      return { values, peakBytes, applied: appliedTo(part)!.savedPlaces };
    };
    const [plain, coded] = [train(false), train(true)];
    expect(coded.values).toEqual(plain.values);
    expect([plain.applied, coded.applied]).toEqual([0, 1]);
    expect(coded.peakBytes).toBeLessThan(plain.peakBytes);
  });

  it.each<[string, ToStaticOptions['memory']]>([
    ['a budget', { budget: 2 ** 30 }],
    ['a first plan', { prefer: 'time' }],
    ['nothing else', 'cleaned'],
  ])('acts with %s', (_, memory) => {
    const run = around((x) => maxPool2d(x, 2));
    const x = inputOf([1, 2, 8, 8], 'float32', false);
    const options = typeof memory === 'string' ? { ...memoryPresets[memory] } : memory;
    const traced = toStatic(run, { memory: { ...options, savedPlaces: true } });
    expect(outcome(traced, x).found).toEqual(outcome(refcounted(run), x).found);
    const { forward } = traced.programs()[0]!.stages!;
    const named = forward.ops.map(({ op }) => op.name).filter((name) => name.includes('Pool'));
    expect(named).toEqual(['maxPool2dCoded']);
    x.dispose();
  });

  it('places that do not fit, or that the caller gets, stay', () => {
    const runs: [(x: Tensor) => Tensor | Tensor[], number[]][] = [
      [around((x) => maxPool2d(x, 2)), [1, 1, 4, 256]],
      [(x) => maxPool2d(x.mul(2), 2, { returnIndices: true }), [2, 2, 8, 8]],
    ];
    for (const [run, shape] of runs) {
      const x = inputOf(shape, 'float32', false);
      const traced = toStatic(run);
      for (const result of [traced(x)].flat()) result.dispose();
      expect(appliedTo(traced.programs()[0]!)!.savedPlaces).toBe(0);
      x.dispose();
    }
  });
});
