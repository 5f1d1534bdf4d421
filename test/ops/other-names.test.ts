/** What PyTorch's users look for under these names. */

import { describe, expect, it } from 'vitest';
import {
  asTensor,
  atleast1d,
  atleast2d,
  atleast3d,
  broadcastTensors,
  clip,
  clone,
  cov,
  empty,
  emptyLike,
  eye,
  isin,
  isTensor,
  matrixPower,
  moveaxis,
  normal,
  seed,
  type Tensor,
  tensor,
  tidy,
  toStatic,
  trilIndices,
  triuIndices,
  zeros,
} from '../../src/index.ts';

const x = () =>
  tensor([
    [1, -2, 3],
    [4, 5, -6],
  ]);
const contents = (own: Tensor) => ({
  shape: own.shape,
  dtype: own.dtype,
  values: [...own.dataSync()],
});

/** Each call, and the same by other means. */
const names: Readonly<Record<string, readonly [(x: Tensor) => Tensor, (x: Tensor) => Tensor]>> = {
  clip: [(own) => own.clip(-1, 2), (own) => own.clamp(-1, 2)],
  'clip()': [(own) => clip(own, -1, 2), (own) => own.clamp(-1, 2)],
  moveaxis: [(own) => own.moveaxis(0, 1), (own) => own.permute(1, 0)],
  'moveaxis()': [(own) => moveaxis(own, 0, 1), (own) => own.permute(1, 0)],
  typeAs: [(own) => own.typeAs(own.gt(0)), (own) => own.bool()],
  viewAs: [(own) => own.viewAs(own.reshape(3, 2)), (own) => own.reshape(3, 2)],
  newZeros: [(own) => own.double().newZeros([2]), () => tensor([0, 0], { dtype: 'float64' })],
  newOnes: [(own) => own.newOnes([2], { dtype: 'int32' }), () => tensor(Int32Array.of(1, 1))],
  newFull: [(own) => own.newFull([1], 7), () => tensor([7])],
  newEmpty: [(own) => own.newEmpty([1]), () => tensor([0])],
  empty: [() => empty([2]), () => tensor([0, 0])],
  emptyLike: [(own) => emptyLike(own.int()), (own) => own.int().mul(0)],
  numel: [(own) => own.mul(own.numel()), (own) => own.mul(6)],
  dim: [(own) => own.mul(own.dim()), (own) => own.mul(2)],
  'ndim, nelement and bytes': [
    (own) => own.mul(own.ndim + own.nelement() + own.nbytes + own.itemsize + own.elementSize()),
    (own) => own.mul(2 + 6 + 24 + 4 + 4),
  ],
  isFloatingPoint: [(own) => own.mul(own.isFloatingPoint() ? 2 : 3), (own) => own.mul(2)],
  'size()': [(own) => own.reshape(...own.t().size()), (own) => own.reshape(3, 2)],
  'size(dim)': [(own) => own.mul(own.size(0) + own.size(-1)), (own) => own.mul(5)],
  stride: [
    (own) => own.mul(own.stride(0) + own.stride()[1]! + own.storageOffset()),
    (own) => own.mul(4),
  ],
  long: [(own) => own.long(), (own) => own.int()],
  'cpu, asTensor and clone': [(own) => asTensor(clone(own.cpu())), (own) => own.mul(1)],
  'isTensor()': [(own) => own.mul(isTensor(own) ? 2 : 3), (own) => own.mul(2)],
  newTensor: [(own) => own.double().newTensor([1, 2]), () => tensor([1, 2], { dtype: 'float64' })],
  splitWithSizes: [(own) => own.splitWithSizes([1, 2], 1)[1]!, (own) => own.narrow(1, 1, 2)],
  fillDiagonal_: [
    (own) => own.clone().fillDiagonal_(0),
    (own) => own.mul(1).sub(own.mul(eye(2, 3))),
  ],
  'fillDiagonal_ of equal sizes': [
    (own) => own.expand(2, 2, 3).narrow(2, 1, 2).clone().fillDiagonal_(0),
    (own) => {
      const kept = tensor([0, 1, 1, 1, 1, 1, 1, 0]).reshape(2, 2, 2).bool();
      return own.expand(2, 2, 3).narrow(2, 1, 2).where(kept, 0);
    },
  ],
  'fillDiagonal_ of a tall matrix': [
    (own) => own.reshape(6, 1).expand(6, 2).clone().fillDiagonal_(0, true),
    (own) => {
      const kept = tensor([0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1]).reshape(6, 2).bool();
      return own.reshape(6, 1).expand(6, 2).where(kept, 0);
    },
  ],
  'at least so many dimensions': [
    (own) => atleast3d(own).add(atleast2d(own.sum())).add(atleast1d(own.sum())),
    (own) => own.unsqueeze(2).add(own.sum()).add(own.sum()),
  ],
  broadcastTensors: [
    (own) => broadcastTensors(own.sum(0), own.unsqueeze(0))[0]!,
    (own) => own.sum(0).expand(1, 2, 3),
  ],
  'places of triangles': [
    () => triuIndices(2, 3, 1).sub(trilIndices(2, 3)),
    () =>
      tensor(
        [
          [0, -1, 0],
          [1, 2, 1],
        ],
        { dtype: 'int32' },
      ),
  ],
  'arithmetic in words': [
    (own) => own.multiply(3).subtract(own).divide(2).negative().absolute(),
    (own) => own.mul(3).sub(own).div(2).neg().abs(),
  ],
  'arc functions': [
    (own) => own.mul(0.1).arcsin().add(own.arctan2(own.arctan())),
    (own) => own.mul(0.1).asin().add(own.atan2(own.atan())),
  ],
  'comparisons in words': [
    (own) => own.greater(1).add(own.lessEqual(3)).add(own.notEqual(0)),
    (own) => own.gt(1).add(own.le(3)).add(own.ne(0)),
  ],
  infinities: [
    (own) => own.div(0).isposinf().logicalXor(own.div(0).isneginf().logicalNot()),
    (own) => own.lt(0).mul(0).bool(),
  ],
  ravel: [(own) => own.t().ravel(), (own) => own.t().flatten()],
  reshapeAs: [(own) => own.reshapeAs(own.t()), (own) => own.reshape(3, 2)],
  adjoint: [(own) => own.adjoint().swapdims(0, 1).adjoint(), (own) => own.t()],
  splits: [
    (own) =>
      own
        .hsplit(3)[1]!
        .add(own.vsplit([1])[0]!)
        .add(own.unsqueeze(0).dsplit(3)[2]!),
    (own) =>
      own
        .narrow(1, 1, 1)
        .add(own.narrow(0, 0, 1))
        .add(own.narrow(1, 2, 1).unsqueeze(0)),
  ],
  sumToSize: [(own) => own.sumToSize(2, 1), (own) => own.sum(1, { keepDim: true })],
  where: [(own) => own.where(own.gt(0), -1), (own) => own.clampMin(0).sub(own.le(0).float())],
  isin: [
    (own) => own.isin(tensor([1, 5])).add(isin(own, own, { invert: true })),
    (own) => own.eq(1).logicalOr(own.eq(5)),
  ],
  matrixPower: [
    (own) => matrixPower(own.narrow(1, 0, 2), 3).add(own.narrow(1, 0, 2).matrixPower(0)),
    (own) => {
      const square = own.narrow(1, 0, 2);
      return square.matmul(square.matmul(square)).add(eye(2));
    },
  ],
  cov: [
    (own) => own.cov(),
    (own) => {
      const centered = own.sub(own.mean(1, { keepDim: true }));
      return centered.matmul(centered.t()).div(2);
    },
  ],
  corrcoef: [
    (own) => own.corrcoef(),
    (own) => {
      const covariance = cov(own);
      const deviation = covariance.diag().sqrt();
      return covariance.div(deviation.unsqueeze(1)).div(deviation.unsqueeze(0)).clamp(-1, 1);
    },
  ],
  'writes by a copy': [
    (own) => {
      const written = own.clone();
      written.lerp_(own.neg(), 0.25).remainder_(3).clampMin_(0.5).clampMax_(2).square_().clip_(1);
      return written.cumsum_(1).tril_();
    },
    (own) =>
      own.lerp(own.neg(), 0.25).remainder(3).clamp(0.5, 2).square().clamp(1).cumsum(1).tril(),
  ],
};

/** The gradient of the sum of the results; null for functions without one. */
function gradientOf(fn: (x: Tensor) => Tensor): readonly number[] | null {
  const own = x().requiresGrad_();
  const result = fn(own);
  if (!result.requiresGrad) return null;
  result.sum().backward();
  return Array.from(own.grad!.dataSync(), (value) => Math.fround(Number(value.toPrecision(5))));
}

describe('other names', () => {
  it.each(Object.entries(names))('%s', (_name, [call, same]) => {
    tidy(() => {
      const expected = contents(same(x()));
      expect(contents(call(x()))).toEqual(expected);
      const captured = toStatic(call, { fallback: 'error' });
      expect(contents(captured(x()))).toEqual(expected);
      expect(captured.stats().breaks).toEqual([]);
      const gradients = [call, same, captured].map((fn) => gradientOf(fn));
      expect(gradients[0]).toEqual(gradients[1]);
      expect(gradients[2]).toEqual(gradients[0]);
    });
  });

  it('equal and tolist read at once', () => {
    tidy(() => {
      expect(x().equal(x())).toBe(true);
      expect(x().equal(x().add(1))).toBe(false);
      expect(x().equal(x().reshape(3, 2))).toBe(false);
      expect(x().gt(0).tolist()).toEqual([
        [true, false, true],
        [true, true, false],
      ]);
    });
  });

  it('uniform_ and normal_ draw into a tensor, captured alike', () => {
    tidy(() => {
      const draw = (own: Tensor): Tensor => own.uniform_(2, 3).add(own.clone().normal_(100, 0.1));
      seed(3);
      const eager = contents(draw(x()));
      seed(3);
      expect(contents(toStatic(draw)(x()))).toEqual(eager);
      for (const value of eager.values) expect(Math.abs(value - 102.5)).toBeLessThan(2);
      const own = x().double();
      own.uniform_(-1, 1);
      expect(own.dtype).toBe('float64');
      expect(own.abs().amax().itemSync()).toBeLessThan(1);
      expect(() => x().int().uniform_()).toThrow('random numbers between integers');
    });
  });

  it('other distributions are drawn into a tensor, captured as eagerly', () => {
    tidy(() => {
      const draw = (own: Tensor): Tensor[] => [
        own.clone().exponential_(2),
        own.clone().logNormal_(0, 0.5),
        own.clone().cauchy_(1, 2),
        own.clone().bernoulli_(0.3),
        own.int().random_(5, 9),
        normal(10, 0.1, [3]),
      ];
      const given = () => zeros([200]);
      seed(5);
      const eager = draw(given()).map(contents);
      seed(5);
      const captured = toStatic(draw);
      expect(captured(given()).map(contents)).toEqual(eager);
      expect(captured.stats().breaks).toEqual([]);
      const [exponential, , , coins, integers, center] = eager.map(({ values }) => values);
      const meanOf = (values: readonly number[]) => values.reduce((a, b) => a + b) / values.length;
      expect(Math.abs(meanOf(exponential!) - 0.5)).toBeLessThan(0.15);
      expect(Math.abs(meanOf(coins!) - 0.3)).toBeLessThan(0.15);
      expect(new Set(integers)).toEqual(new Set([5, 6, 7, 8]));
      expect(Math.abs(meanOf(center!) - 10)).toBeLessThan(0.5);
    });
  });

  it('a write of fractions to integers is an error that names the method', () => {
    tidy(() => {
      expect(() => x().int().remainder_(0.5)).toThrow("remainder_: the target's dtype");
      return null;
    });
  });
});
