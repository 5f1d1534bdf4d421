/** Masks instead of saved values: fewer bytes are kept, and values and gradients have eager execution's bits. */

import { describe, expect, it } from 'vitest';
import { bind1 } from '../../runtime/ops/core/bind.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import { appliedTo } from '../../src/explain/applied.ts';
import {
  crossEntropy,
  type DType,
  dropout,
  grad,
  leakyRelu,
  maxPool2d,
  nn,
  optim,
  randn,
  refcounted,
  relu,
  relu6,
  seed,
  type Tensor,
  tensor,
  threshold,
  tidy,
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

/** Gradients that multiply are rounded by their own kernels in half precision. */
const applies = (name: string, dtype: DType): number =>
  name === 'relu6' && dtype.includes('float16') ? 0 : 1;

/** Each has activations that backward only compares. */
const losses: Record<string, LossCase> = {
  relu: { run: (x) => relu(x.mul(2)).mul(3).mean(), shape: [37, 11] },
  'relu that is read transposed': {
    run: (x) => relu(x.mul(2)).mul(3).t().sum(),
    shape: [40, 24],
  },
  'relu of a strided input': { run: (x) => relu(x.t().add(1)).mul(0.5).sum(), shape: [40, 24] },
  threshold: { run: (x) => threshold(x.mul(2), 0.25, 7).mul(3).sum(), shape: [513] },
  'leaky relu': { run: (x) => leakyRelu(x.mul(2), 0.3).mul(3).mean(), shape: [37, 11] },
  relu6: { run: (x) => relu6(x.mul(2)).mul(3).mean(), shape: [37, 11] },
  'two reads of one relu': {
    run: (x) => {
      const y = relu(x.add(1));
      return y.mul(2).sum().add(y.mean());
    },
    shape: [4, 5, 6, 7],
  },
  'several relus': {
    run: (x) =>
      relu(relu(x.mul(2)).mul(-3).add(2))
        .mul(5)
        .sum(),
    shape: [16, 33],
  },
  'dropout after relu': { run: (x) => dropout(relu(x.mul(2)), 0.25).sum(), shape: [64, 9] },
  'relu before pooling': {
    run: (x) =>
      maxPool2d(relu(x.mul(2)), 2)
        .exp()
        .mean(),
    shape: [2, 5, 16, 16],
  },
};

function inputOf(shape: readonly number[], dtype: DType, special: boolean): Tensor {
  const size = shape.reduce((a, b) => a * b, 1);
  const values = Array.from({ length: size }, (_, i) => (((i * 37) % 23) - 11) / 4);
  if (special) [values[3], values[5], values[8]] = [Number.NaN, Number.POSITIVE_INFINITY, -0];
  return tensor(values, { dtype, shape: [...shape] }).requiresGrad_();
}

describe('plan/saved-masks', () => {
  /** Programs that keep fewer bytes with masks in bits. */
  let packings = 0;

  for (const [name, { run, shape }] of Object.entries(losses)) {
    it.each(['float32', 'float64', 'float16', 'bfloat16'] as const)(`${name}, %s`, (dtype) => {
      for (const special of [false, true]) {
        const x = inputOf(shape, dtype, special);
        const traced = toStatic(run);
        const inBits = toStatic(run, { memory: { savedMasks: 'bits' } });
        const [eager, plain, masked, packed] = [
          outcome(refcounted(run), x),
          outcome(toStatic(run, { memory: { savedMasks: false } }), x),
          outcome(traced, x),
          outcome(inBits, x),
        ];
        const part = traced.programs()[0]!;
        expect(appliedTo(part)!.savedMasks).toBe(applies(name, dtype));
        expect(masked.found).toEqual(eager.found);
        expect(plain.found).toEqual(eager.found);
        if (applies(name, dtype)) expect(masked.kept).toBeLessThan(plain.kept);
        expect(masked.peak).toBeLessThanOrEqual(plain.peak);
        expect(masked.peak).toBe(part.record.planned!.forward.predicted.peakBytes);
        const { forward } = inBits.programs()[0]!.record.planned!;
        expect(packed.found).toEqual(eager.found);
        expect(packed.kept).toBeLessThanOrEqual(masked.kept);
        expect(packed.peak).toBe(forward.predicted.peakBytes);
        if (packed.kept < masked.kept) packings++;
        x.dispose();
      }
    });

    it(`${name}: gradients of gradients`, () => {
      const second = (fn: Loss) =>
        numbersOf(() => {
          const x = inputOf(shape, 'float32', false);
          seed(5);
          const y = fn(x);
          const [slope] = grad(y.mul(y), [x], { createGraph: true });
          return [y, slope!, ...grad(slope!.pow(2).sum(), [x])];
        });
      for (const savedMasks of [true, 'bits'] as const) {
        const traced = toStatic(run, { memory: { savedMasks } });
        expect(second(traced)).toEqual(second(run));
        expect(appliedTo(traced.programs()[0]!)!.savedMasks).toBe(1);
      }
    });
  }

  it('masks in bits are an eighth of those in bytes', () => {
    expect(packings).toBeGreaterThan(30);
    const run: Loss = (x) => relu(x.mul(2)).mul(3).mean();
    const x = inputOf([512, 16], 'float32', false);
    const kept = ([true, 'bits'] as const).map((savedMasks) => {
      const { kept } = outcome(toStatic(run, { memory: { savedMasks } }), x);
      return kept;
    });
    expect(kept[0]! - kept[1]!).toBe((512 * 16 * 7) / 8);
    x.dispose();
  });

  it('bits hold every element, wherever a view of them begins', () => {
    for (const size of [0, 1, 7, 8, 9, 31, 64, 65, 200]) {
      for (const start of [0, 1, 2, 4]) {
        tidy(() => {
          const values = Uint8Array.from({ length: size + start }, (_, i) => ((i * i * 7) % 3) & 1);
          const mask = tensor(values, { dtype: 'bool' }).narrow(0, start, size);
          const bits = bind1(opNamed('packBits'), [mask]);
          expect(bits.shape).toEqual([Math.ceil(size / 8)]);
          const back = bind1(opNamed('unpackBits'), [bits], { shape: [size] });
          expect([...back.dataSync()]).toEqual([...mask.dataSync()]);
        });
      }
    }
  });

  it('gradients of gradients through a bias that is not kept', () => {
    const run = (x: Tensor, w: Tensor, b: Tensor) => relu(x.matmul(w).add(b)).mul(2).sum();
    const second = (fn: typeof run) =>
      numbersOf(() => {
        const [x, w, b] = [[24, 8], [8, 16], [16]].map((shape) =>
          inputOf(shape, 'float32', false),
        ) as [Tensor, Tensor, Tensor];
        const [slope] = grad(fn(x, w, b), [x], { createGraph: true });
        return [slope!, ...grad(slope!.pow(2).sum(), [w])];
      });
    const traced = toStatic(run);
    expect(second(traced)).toEqual(second(run));
    expect(appliedTo(traced.programs()[0]!)!.savedMasks).toBe(1);
  });

  it('a result that a product, the caller or a checkpoint keeps anyway stays', () => {
    const w = inputOf([8, 4], 'float32', false);
    const runs: ((x: Tensor) => Tensor | Tensor[])[] = [
      (x) => relu(x.mul(2)).matmul(w).sum(),
      (x) => {
        const y = relu(x.mul(2));
        return [y, y.mul(3).sum()];
      },
      (x) => relu(x).pow(2).sum(),
    ];
    for (const run of runs) {
      const x = inputOf([32, 8], 'float32', false);
      const traced = toStatic(run);
      for (const result of [traced(x)].flat()) result.dispose();
      expect(appliedTo(traced.programs()[0]!)!.savedMasks).toBe(0);
      x.dispose();
    }
    w.dispose();
  });

  const activations: Record<string, () => nn.Layer> = {
    relu: () => new nn.ReLU(),
    'leaky relu': () => new nn.LeakyReLU(0.3),
    relu6: () => new nn.ReLU6(),
    threshold: () => new nn.Threshold(0.1, 20),
  };
  const sizes = [
    { batch: 256, width: 32, layers: 2 },
    { batch: 100, width: 24, layers: 3 },
    { batch: 65, width: 7, layers: 4 },
  ];
  for (const [name, activation] of Object.entries(activations)) {
    it.each(sizes)(`a whole step with ${name} has a lower peak, %o`, ({ batch, width, layers }) => {
      const train = (savedMasks: boolean | 'bits') => {
        seed(1);
        // Layers without a product between them: nothing else reads the results of the activations.
        const blocks = Array.from({ length: layers }, () => [
          activation(),
          new nn.LayerNorm(width),
        ]);
        const model = new nn.Sequential(
          new nn.Linear(width, width),
          ...blocks.flat(),
          new nn.Linear(width, 10),
          activation(),
        );
        const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
        const step = toStatic(
          (x: Tensor, labels: Tensor) => {
            const loss = crossEntropy(model.forward(x), labels);
            loss.backward();
            optimizer.step();
            optimizer.zeroGrad();
            return loss;
          },
          { memory: { prefer: 'bytes', slices: false, savedMasks }, check: 2 },
        );
        const x = randn([batch, width]);
        const labels = tensor(Int32Array.from({ length: batch }, (_, i) => i % 10));
        const values = [0, 1].map(() => {
          const loss = step(x, labels);
          const value = loss.itemSync();
          loss.dispose();
          return value;
        });
        const part = step.programs()[0]!;
        for (const each of [x, labels, optimizer, model]) each.dispose();
        const { peakBytes } = part.stages!.planned.forward.predicted;
        return { values, peakBytes, applied: appliedTo(part)!.savedMasks };
      };
      const [plain, masked] = [train(false), train(true)];
      expect(masked.values).toEqual(plain.values);
      expect([plain.applied, masked.applied]).toEqual([0, 1]);
      expect(masked.peakBytes).toBeLessThan(plain.peakBytes);
      const packed = train('bits');
      expect(packed.values).toEqual(plain.values);
      expect(packed.peakBytes).toBeLessThanOrEqual(masked.peakBytes);
    });
  }
});
