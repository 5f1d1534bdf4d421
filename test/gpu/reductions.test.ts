import { describe, it } from 'vitest';
import { tensor } from '../../runtime/ops/core/create.ts';
import { logSoftmax, softmax } from '../../runtime/ops/normalization/softmax.ts';
import { max, min } from '../../runtime/ops/reduce/extremes.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { gpuForTests, skipGpu } from './open-gpu.ts';
import { expectParity } from './parity.ts';

const close = { relative: 2e-5, absolute: 2e-5 };

/** Around 1, so that long products stay finite. */
function numbers(...shape: number[]): Tensor {
  const size = shape.reduce((a, b) => a * b, 1);
  return tensor(
    new Float32Array(size).map((_, i) => 1 + Math.sin(i * 12.9898) / 8),
    { shape },
  );
}

const ops: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  amin: (x) => x.amin(1),
  'amin of all': (x) => x.amin(),
  argmin: (x) => x.argmin(0),
  prod: (x) => x.prod(-1),
  'prod of all': (x) => x.narrow(0, 0, 1).prod(),
  cumsum: (x) => x.cumsum(-1),
  'cumsum of the first dimension': (x) => x.cumsum(0),
  cumprod: (x) => x.cumprod(1),
  var: (x) => x.var(0),
  std: (x) => x.std(),
  norm: (x) => x.norm(2, -1),
  'norm 3': (x) => x.norm(3),
  logsumexp: (x) => x.logsumexp(1),
  any: (x) => x.gt(1).any(0),
  all: (x) => x.gt(0.87).all(-1),
  countNonzero: (x) => x.gt(1).countNonzero(),
  'max along a dimension': (x) => max(x, 1)[0],
  'places of max': (x) => max(x, 0)[1],
  'min along a dimension': (x) => min(x, -1, true)[0],
  'softmax of the first dimension': (x) => softmax(x, 0),
  'logSoftmax of the first dimension': (x) => logSoftmax(x, 0),
};

describe.skipIf(skipGpu)('gpu/reductions', () => {
  const gpu = gpuForTests();

  for (const [name, op] of Object.entries(ops)) {
    it(name, async () => {
      for (const x of [() => numbers(3, 4, 5), () => numbers(2, 1100, 2), () => numbers(5, 1, 1)]) {
        await expectParity(gpu(), () => op(x()), close);
      }
    });
  }

  it('gradients of prod, cumsum and cumprod, also with zeros', async () => {
    const gradient = (run: (x: Tensor) => Tensor) => () => {
      const x = tensor(
        [
          [1, 2, 0, 3],
          [0.5, 0, 0, 1],
          [1, -1, 2, 0.5],
        ],
        { requiresGrad: true },
      );
      const out = run(x);
      out.mul(out.add(1)).sum().backward();
      return x.grad!;
    };
    for (const run of [
      (x: Tensor) => x.prod(1),
      (x: Tensor) => x.cumsum(0),
      (x: Tensor) => x.cumprod(1),
      (x: Tensor) => x.cumprod(0),
    ]) {
      await expectParity(gpu(), gradient(run), close);
    }
  });

  it('NaN is the smallest, and the first of equal ones is found', async () => {
    const x = () =>
      tensor([
        [3, NaN, 1],
        [2, 1, 1],
        [-Infinity, 0, Infinity],
      ]);
    await expectParity(gpu(), () => x().amin(1));
    await expectParity(gpu(), () => x().argmin(1));
    await expectParity(gpu(), () => x().amin(0));
  });
});
