/** Products and sums whose elements go through pointwise ops before they are stored: the bits of eager execution. */

import { describe, expect, it } from 'vitest';
import { deviceGuard, matmul, randn, relu, seed, Tensor, tidy } from '../../../runtime/index.ts';
import { toStatic } from '../../../src/to-static.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';
import { expectSameKernels } from '../parity.ts';

interface Case {
  readonly fn: (...operands: Tensor[]) => Tensor | Tensor[];
  readonly operands: () => Tensor[];
  /** Of one run; 1 where all is one kernel. */
  readonly dispatches: number;
}

const cases: Readonly<Record<string, Case>> = {
  'a linear layer': {
    fn: (x, w, b) => relu(matmul(x!, w!).add(b!)),
    operands: () => [randn([9, 20]), randn([20, 33]), randn([33])],
    dispatches: 1,
  },
  'a residual and a column': {
    fn: (x, w, r, c) => matmul(x!, w!).add(r!).mul(c!).tanh(),
    operands: () => [randn([40, 6]), randn([6, 36]), randn([40, 36]), randn([40, 1])],
    dispatches: 1,
  },
  'batches with operands that repeat': {
    fn: (q, k, scale, mask) => matmul(q!, k!).mul(scale!).add(mask!),
    operands: () => [randn([3, 2, 5, 4]), randn([3, 2, 4, 6]), randn([2, 1, 1]), randn([5, 6])],
    dispatches: 1,
  },
  'the product itself is a result': {
    fn: (x, w) => {
      const product = matmul(x!, w!);
      return [product, product.relu(), product.mul(2).sub(1)];
    },
    operands: () => [randn([4, 10]), randn([10, 12])],
    dispatches: 1,
  },
  'an operand that is a factor, too': {
    fn: (x) => matmul(x!, x!).add(x!).mul(0.5),
    operands: () => [randn([12, 12])],
    dispatches: 1,
  },
  'a write in place to a factor': {
    fn: (x, w) => {
      x!.mul_(0.5).add_(matmul(x!, w!));
      return x!.mul(1);
    },
    operands: () => [randn([16, 16]), randn([16, 16])],
    // What is written in place can't be written before the product has read it.
    dispatches: 3,
  },
  'sums by rows': {
    fn: (x, y) => x!.sum(1).mul(y!).add(1).sqrt(),
    operands: () => [randn([7, 300]).abs(), randn([7]).abs()],
    dispatches: 1,
  },
  'sums by columns, and of all': {
    fn: (x, y) => [x!.sum(0).mul(2).add(y!), x!.sum().mul(0.25).exp()],
    operands: () => [randn([50, 9]), randn([9])],
    dispatches: 2,
  },
  'writes in place to a product and a sum': {
    fn: (x) => [matmul(x!, x!).mul_(2), x!.sum(0).add_(1).relu_(), x!.sum().sub_(3)],
    operands: () => [randn([12, 12])],
    dispatches: 3,
  },
  'a write in place to a sum that was read before': {
    fn: (x) => {
      const sum = x!.sum(1);
      const before = sum.mul(2);
      return [before, sum.add_(1)];
    },
    operands: () => [randn([7, 30])],
    dispatches: 1,
  },
};

describe.skipIf(skipGpu)('gpu/wgsl/headed', () => {
  const gpu = gpuForTests();

  const on = (make: () => Tensor[]) =>
    deviceGuard(gpu(), () => {
      seed(9);
      return tidy(make);
    });
  const read = (found: Tensor | Tensor[]) =>
    Promise.all(
      (found instanceof Tensor ? [found] : found).map(async (t) => [...(await t.data())]),
    );

  it.each(Object.keys(cases))('%s', async (name) => {
    const { fn, operands, dispatches } = cases[name]!;
    const eager = await read(fn(...on(operands)));
    const captured = toStatic(fn);
    captured(...on(operands));
    const given = on(operands);
    await gpu().synchronize();
    const before = gpu().commandCounts.dispatches;
    const found = captured(...given);
    expect(gpu().commandCounts.dispatches - before).toBe(dispatches);
    expectSameKernels(gpu(), await read(found), eager);
  });
});
