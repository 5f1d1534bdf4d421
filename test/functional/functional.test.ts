import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  conv3d,
  ctcLoss,
  dropout1d,
  dropout2d,
  dropout3d,
  embeddingBag,
  grad,
  gridSample,
  gumbelSoftmax,
  logspace,
  maxPool3d,
  memory,
  nn,
  ones,
  optim,
  randn,
  ShapeError,
  seed,
  setGradEnabled,
  type Tensor,
  tensor,
  tidy,
  toStatic,
  zeros,
} from '../../src/index.ts';
import { spread } from '../ops/eager.ts';
import { cases } from './cases.ts';
import type { FunctionalCase, Nested } from './plain-loops.ts';

const leaves = ({ shapes }: FunctionalCase, values: readonly Float64Array[]): Tensor[] =>
  shapes.map((shape, i) =>
    tensor(values[i]!, { shape: [...shape], dtype: 'float64' }).requiresGrad_(),
  );

const valuesFor = ({ shapes }: FunctionalCase) =>
  shapes.map((shape, i) => Float64Array.from(spread(shape, i)));

const numbers = (x: Tensor): number[] => [...x.dataSync()] as number[];
const bits = (...tensors: readonly Tensor[]) =>
  tensors.map((x) => [x.dtype, x.shape.join(), ...numbers(x)]);

describe.each(cases)('functional/$name', (example) => {
  const { shapes, run, expected } = example;

  it('has the values of plain loops', () => {
    const values = valuesFor(example);
    const given = values.map((own, i) => Object.assign([...own], { shape: shapes[i]! }) as Nested);
    const found = numbers(tidy(() => run(...leaves(example, values))));
    const wanted = expected(...given) as number[];
    expect(found.length).toBe(wanted.length);
    found.forEach((value, i) => {
      expect(value).toBeCloseTo(wanted[i]!, 10);
    });
  });

  it('has gradients that equal central differences', () => {
    const values = valuesFor(example);
    const inputs = leaves(example, values);
    const out = run(...inputs);
    const weights = tensor(Float64Array.from(spread(out.shape, 99)), {
      shape: out.shape,
      dtype: 'float64',
    });
    const gradients = grad(out.mul(weights).sum(), inputs).map(numbers);
    const step = 2 ** -17;
    const weighed = (moved: Float64Array[]) =>
      tidy(() =>
        run(...leaves(example, moved))
          .mul(weights)
          .sum()
          .itemSync(),
      );
    values.forEach((own, which) => {
      own.forEach((value, i) => {
        const at = (x: number) =>
          weighed(values.map((other, k) => (k === which ? other.with(i, x) : other)));
        const difference = (at(value + step) - at(value - step)) / (2 * step);
        expect(gradients[which]![i]!).toBeCloseTo(difference, 6);
      });
    });
  });

  it('is one program, with the bits of eager execution and all bytes given back', () => {
    const step = (...inputs: Tensor[]) => {
      const out = run(...inputs);
      return [out, ...grad(out.square().sum(), inputs)];
    };
    const captured = toStatic(step, { fullGraph: true, check: 1 });
    const values = valuesFor(example);
    const before = memory.stats('cpu').allocated;
    tidy(() => {
      for (let call = 0; call < 2; call++) {
        const inputs = leaves(example, values);
        expect(bits(...captured(...inputs))).toEqual(bits(...step(...inputs)));
      }
    });
    expect(memory.stats('cpu').allocated).toBe(before);
    expect(captured.stats()).toMatchObject({ graphs: 1, fallbacks: [] });
  });
});

describe('functional/random', () => {
  it.each([false, true])(
    'gumbelSoftmax draws classes by their probabilities (hard: %s)',
    (hard) => {
      const sample = (logits: Tensor) => gumbelSoftmax(logits, { tau: 0.5, hard });
      const run = (fn: typeof sample) => {
        seed(3);
        return fn(tensor([0.1, 0.6, 0.3]).log().expand([4000, 3]));
      };
      const eager = run(sample);
      expect(bits(run(toStatic(sample, { fullGraph: true })))).toEqual(bits(eager));
      const counts = numbers(eager.argmax(1).bincount()).map((count) => count / 4000);
      [0.1, 0.6, 0.3].forEach((p, i) => {
        expect(Math.abs(counts[i]! - p)).toBeLessThan(0.03);
      });
      expect(numbers(eager.sum(1)).every((sum) => Math.abs(sum - 1) < 1e-5)).toBe(true);
      expect(numbers(eager).every((value) => value === 0 || value === 1)).toBe(hard);
    },
  );

  it('a hard sample of gumbelSoftmax has the gradient of the soft one', () => {
    const gradients = [false, true].map((hard) => {
      seed(4);
      const logits = randn([5, 3]).requiresGrad_();
      gumbelSoftmax(logits, { hard })
        .mul(tensor([1, 2, 3]))
        .sum()
        .backward();
      return numbers(logits.grad!);
    });
    expect(gradients[1]).toEqual(gradients[0]);
  });

  it.each([
    ['dropout1d', dropout1d, [3, 7]],
    ['dropout2d', dropout2d, [3, 2, 2]],
    ['dropout3d', dropout3d, [3, 2, 1, 2]],
  ] as const)('%s zeroes whole channels, of a single entry too', (_, drop, shape) => {
    seed(1);
    const batch = drop(ones([50, ...shape]), 0.5);
    const sums = numbers(batch.reshape([150, -1]).mean(1));
    expect(new Set(sums)).toEqual(new Set([0, 2]));
    seed(1);
    expect(new Set(numbers(drop(ones(shape), 0.5).reshape([3, -1]).mean(1)))).not.toContain(1);
    expect(numbers(drop(ones(shape), 0.5, false))).toEqual(numbers(ones(shape)));
  });
});

describe('functional/modules', () => {
  it.each([
    ['Conv3d', () => new nn.Conv3d(2, 3, [1, 2, 2], { padding: 1 }), [2, 2, 3, 3, 3]],
    [
      'Conv3d that mirrors',
      () => new nn.Conv3d(2, 2, 2, { padding: 1, paddingMode: 'replicate' }),
      [1, 2, 3, 3, 3],
    ],
    ['MaxPool3d', () => new nn.MaxPool3d(2, { stride: 1 }), [1, 2, 3, 3, 3]],
    ['ZeroPad3d', () => new nn.ZeroPad3d([1, 0, 2, 1, 0, 1]), [1, 1, 2, 2, 2]],
  ] as const)('%s trains in one graph, with the bits of eager execution', (_, make, shape) => {
    const train = (capture: boolean) => {
      seed(8);
      const model = new nn.Sequential(make(), new nn.Flatten(), new nn.Tanh());
      const w = ones([1]).requiresGrad_();
      const optimizer = new optim.SGD([w, ...model.parameters()], { lr: 0.1 });
      const step = (x: Tensor) => {
        const loss = model.forward(x.mul(w)).square().sum();
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
        return loss.detach();
      };
      const called = capture ? toStatic(step, { fullGraph: true }) : step;
      return Array.from({ length: 3 }, () => called(randn(shape)).itemSync());
    };
    expect(train(true)).toEqual(train(false));
  });

  it('EmbeddingBag and CTCLoss compute the functions', () => {
    const ids = tensor([2, 0, 1], { dtype: 'int32' });
    const offsets = tensor([0, 1], { dtype: 'int32' });
    const bag = new nn.EmbeddingBag(3, 2, { mode: 'max', paddingIdx: 1 });
    expect(bits(bag.forward(ids, offsets))).toEqual(
      bits(embeddingBag(bag.weight, ids, { offsets, mode: 'max', paddingIdx: 1 })),
    );
    expect(bits(bag.forward(ids, { offsets }))).toEqual(bits(bag.forward(ids, offsets)));
    expect(() => bag.forward(ids, { offset: offsets } as never)).toThrow(
      'EmbeddingBag: no such option',
    );
    const scores = randn([4, 1, 3]).logSoftmax(2);
    const labels = tensor([[1, 2]], { dtype: 'int32' });
    const loss = new nn.CTCLoss({ reduction: 'sum' });
    expect(bits(loss.forward(scores, labels, [4], [2]))).toEqual(
      bits(ctcLoss(scores, labels, [4], [2], { reduction: 'sum' })),
    );
    expect(() => new nn.EmbeddingBag(3, 2, { mode: 'min' as 'max' })).toThrow(ArgumentError);
  });
});

describe('functional', () => {
  it('setGradEnabled records or not, inside a graph too', () => {
    const w = ones([2]).requiresGrad_();
    const f = (training: boolean) => setGradEnabled(training, () => w.mul(2));
    const captured = toStatic(f, { fullGraph: true });
    for (const fn of [f, captured]) {
      expect([true, false].map((training) => fn(training).requiresGrad)).toEqual([true, false]);
    }
    expect(captured.stats().graphs).toBe(2);
  });

  it('ctcLoss of labels that do not fit is Infinity, or 0 with zeroInfinity', () => {
    const x = zeros([2, 1, 3]).logSoftmax(2);
    const labels = tensor([[1, 1]], { dtype: 'int32' });
    expect(ctcLoss(x, labels, [2], [2]).itemSync()).toBe(Infinity);
    expect(ctcLoss(x, labels, [2], [2], { zeroInfinity: true }).itemSync()).toBe(0);
  });

  it('logspace is even on a logarithmic scale', () => {
    expect(numbers(logspace(0, 3, 4))).toEqual([1, 10, 100, 1000]);
    expect(numbers(logspace(0, 3, 4, { base: 2, dtype: 'float64' }))).toEqual([1, 2, 4, 8]);
  });

  it('says what does not fit', () => {
    expect(() => conv3d(ones([1, 2, 3, 3, 3]), ones([1, 3, 1, 1, 1]))).toThrow(ShapeError);
    expect(() => conv3d(ones([1, 1, 1, 3, 3]), ones([1, 1, 2, 1, 1]))).toThrow(ShapeError);
    expect(() => maxPool3d(ones([1, 1, 3, 3]), 4)).toThrow(ShapeError);
    expect(() => gridSample(ones([1, 1, 2, 2]), ones([2, 2, 2, 2]))).toThrow(ShapeError);
    const ids = tensor([0, 1], { dtype: 'int32' });
    expect(() => embeddingBag(ones([2, 2]), ids)).toThrow(ArgumentError);
    expect(() => ctcLoss(ones([2, 1, 3]), ids, [2], tensor([2], { dtype: 'int32' }))).toThrow(
      ArgumentError,
    );
  });
});
