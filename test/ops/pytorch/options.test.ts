import { describe, expect, it } from 'vitest';
import {
  addbmm,
  corrcoef,
  cov,
  cumulativeTrapezoid,
  einsum,
  embeddingBag,
  gradient,
  isclose,
  ones,
  rmsNorm,
  tensor,
  tidy,
  toStatic,
  trapezoid,
} from '../../../src/index.ts';
import { expectClose, type Tensor } from '../eager.ts';

const ints = (...numbers: number[]) => tensor(Int32Array.from(numbers), { dtype: 'int32' });

/** Runs eagerly and captured. */
function expectBoth(f: () => Tensor, expected: readonly number[], shape: readonly number[]): void {
  const captured = toStatic(f, { fullGraph: true });
  for (const run of [f, captured, captured]) {
    tidy(() => {
      const found = run();
      expect(found.shape).toEqual(shape);
      expectClose(found.dataSync(), expected, 'values', { relative: 1e-6, absolute: 1e-7 });
    });
  }
}

describe('covariances', () => {
  const x = tensor([
    [1, 2, 4, 3],
    [2, 0, 1, 5],
  ]);
  const fweights = ints(1, 2, 1, 3);
  const aweights = tensor([0.5, 1, 2, 0.25]);

  it.each([
    [{ fweights }, [0.952380952, 0.785714286, 5.619047619]],
    [{ aweights }, [2.142857143, 0, 2.328571429]],
    [{ fweights, aweights }, [1.443786982, 0.319526627, 3.49704142]],
    [{ fweights, correction: 0 }, [0.816326531, 0.673469388, 4.816326531]],
    [{ aweights, correction: 0 }, [1.333333333, 0, 1.448888889]],
  ])('weighed by %o', (options, [a, b, d]) => {
    expectBoth(() => cov(x, options), [a!, b!, b!, d!], [2, 2]);
  });

  it('reject weights of another number or kind', () => {
    const wrong = [
      { fweights: aweights },
      { fweights: ints(1, 2) },
      { aweights: tensor([[1, 2, 3, 4]]) },
    ];
    for (const options of wrong) expect(() => cov(x, options)).toThrow(/weights that don't fit/);
  });

  it('of one variable are a scalar, and of integers float32', () => {
    const row = tensor([[1, 2, 4, 3]]);
    expectBoth(() => cov(row), [5 / 3], []);
    expectBoth(() => corrcoef(row), [1], []);
    const counts = tensor([
      [1, 2, 4],
      [3, 1, 0],
    ]).int();
    expectBoth(() => corrcoef(counts), [1, -0.928571284, -0.928571284, 1], [2, 2]);
    expect(cov(counts).dtype).toBe('float32');
  });
});

describe('integers', () => {
  it('keep their dtype in products that are summed, and count as int32 in sums', () => {
    const bytes = (...shape: number[]) => ones(shape, { dtype: 'uint8' });
    const matrices = [bytes(2, 3), bytes(3, 4)];
    const dtypeOf = (equation: string, tensors: Tensor[]) => einsum(equation, tensors).dtype;
    for (const equation of ['ij,jk->ik', 'ij,jk->kji']) {
      expect(dtypeOf(equation, matrices)).toBe('uint8');
    }
    expect(dtypeOf('ij,ij->', [bytes(2, 3), bytes(2, 3)])).toBe('uint8');
    expect(dtypeOf('ij->ji', [bytes(2, 3)])).toBe('uint8');
    expect(dtypeOf('ij->i', [bytes(2, 3)])).toBe('int32');
    expect(dtypeOf('ij,jk->', matrices)).toBe('int32');
    const batches = [bytes(200, 2, 3), bytes(200, 3, 4)] as const;
    const sums = addbmm(bytes(2, 4), ...batches);
    expect([sums.dtype, ...sums.dataSync()]).toEqual(['uint8', ...Array(8).fill(601 % 256)]);
    const flags = [tensor([true, true]), tensor([true, true])];
    expect(dtypeOf('i,j->ij', flags)).toBe('bool');
    expect(einsum('i,i->', flags).itemSync()).toBe(2);
  });

  it('have float32 areas and slopes, whatever the distance', () => {
    const x = ints(1, 2, 4);
    for (const distance of [1, 2, 0.5]) {
      expect(trapezoid(x, { dx: distance }).dtype).toBe('float32');
      expect(cumulativeTrapezoid(x, { dx: distance }).dtype).toBe('float32');
      expect(gradient(x, { spacing: distance })[0]!.dtype).toBe('float32');
    }
    expectBoth(() => gradient(x, { spacing: 2 })[0]!, [0.5, 0.75, 1], [3]);
  });

  it('are close by their distance, even if int32 or uint8 has no such number', () => {
    const [least, most] = [-(2 ** 31), 2 ** 31 - 1];
    const [a, b] = [ints(0, most, most, 2 ** 30), ints(least, least, most - 1, 2 ** 30 + 3)];
    const [p, q] = [
      [5, 250],
      [250, 5],
    ].map((bytes) => tensor(bytes, { dtype: 'uint8' }));
    expectBoth(() => isclose(a, b, { rtol: 0, atol: 1 }), [0, 0, 1, 0], [4]);
    expectBoth(() => isclose(p!, q!, { rtol: 0, atol: 20 }), [0, 0], [2]);
  });
});

it('rmsNorm adds the distance from 1 to the next number of the dtype', () => {
  for (const [dtype, eps] of [
    ['float32', 2 ** -23],
    ['float64', 2 ** -52],
  ] as const) {
    const x = tensor([2e-8, 0], { dtype });
    expectBoth(() => rmsNorm(x, 2), [2e-8 / Math.sqrt(2e-16 + eps), 0], [2]);
  }
});

describe('bags of embeddings', () => {
  const weight = () =>
    tensor(
      [0, 1, 2, 3, 4].map((row) => [2 * row + 1, 2 * row + 2]),
      { requiresGrad: true },
    );
  const pairs = tensor([
    [0, 1, 1],
    [1, 2, 4],
  ]).int();
  const list = ints(4, 1, 2, 1);

  it.each([
    ['sum', [7, 10, 17, 20], [1, 1, 1, 0, 1]],
    ['mean', [7 / 3, 10 / 3, 17 / 3, 20 / 3], [1 / 3, 1 / 3, 1 / 3, 0, 1 / 3]],
  ] as const)('divide gradients by the number of uses, in mode %s', (mode, values, slopes) => {
    const w = weight();
    const bags = embeddingBag(w, pairs, { mode, scaleGradByFreq: true });
    expectClose(bags.dataSync(), values, 'bags');
    bags.sum().backward();
    expectClose(w.grad!.select(1, 0).dataSync(), slopes, 'gradient');
  });

  it('may end at a last offset', () => {
    const w = weight();
    const means = { offsets: ints(0, 2, 4), includeLastOffset: true, paddingIdx: -1 };
    expectBoth(() => embeddingBag(w, list, means), [3, 4, 4, 5], [2, 2]);
    const largest = { offsets: ints(0, 2, 2, 4), includeLastOffset: true, mode: 'max' } as const;
    expectBoth(() => embeddingBag(w, list, largest), [9, 10, 0, 0, 5, 6], [3, 2]);
  });

  it('shorten the rows that they use', () => {
    const rows = tensor([
      [3, 4],
      [0.3, 0.4],
    ]);
    const bags = embeddingBag(rows, ints(0, 1).reshape([1, 2]), { mode: 'sum', maxNorm: 1 });
    expectClose(bags.dataSync(), [0.9, 1.2], 'bags');
    expectClose(rows.dataSync(), [0.6, 0.8, 0.3, 0.4], 'rows');
  });
});
