import { describe, expect, it } from 'vitest';
import { bind1 } from '../../runtime/ops/core/bind.ts';
import { tensor } from '../../runtime/ops/core/create.ts';
import { E } from '../../runtime/ops/expr/expr.ts';
import { where } from '../../runtime/ops/pointwise/pointwise.ts';
import { randn } from '../../runtime/ops/random/drawn.ts';
import { defineOp } from '../../runtime/ops/record/define-op.ts';
import { seed } from '../../runtime/random/seed.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { gpuForTests, onDevice, skipGpu } from './open-gpu.ts';
import { expectParity, type Tolerance } from './parity.ts';

const special = [
  0,
  -0,
  1,
  -1,
  0.5,
  -0.5,
  2,
  -2,
  3.7,
  -3.7,
  15,
  -15,
  45,
  -45,
  88,
  -88,
  89,
  -89,
  104,
  -105,
  1e-20,
  -1e-20,
  1e20,
  -1e20,
  3e38,
  Infinity,
  -Infinity,
  NaN,
];

/** Every pair of special values. */
const left = special.flatMap((x) => special.map(() => x));
const right = special.flatMap(() => special);

describe.skipIf(skipGpu)('gpu/pointwise', () => {
  const gpu = gpuForTests();

  const unary: Record<string, [(x: Tensor) => Tensor, Tolerance?]> = {
    neg: [(x) => x.neg()],
    abs: [(x) => x.abs()],
    sign: [(x) => x.sign()],
    exp: [(x) => x.exp(), { relative: 1e-5 }],
    log: [(x) => x.log(), { relative: 1e-5 }],
    sqrt: [(x) => x.sqrt()],
    tanh: [(x) => x.tanh()],
    sigmoid: [(x) => x.sigmoid()],
    relu: [(x) => x.relu()],
    'pow 0': [(x) => x.pow(0)],
    'pow 2': [(x) => x.pow(2)],
    'pow 3': [(x) => x.pow(3)],
    'pow -1': [(x) => x.pow(-1)],
    'pow -3': [(x) => x.pow(-3)],
    'pow 0.5': [(x) => x.pow(0.5)],
    'pow 1.5': [(x) => x.pow(1.5), { relative: 2e-5 }],
    'pow -2.5': [(x) => x.pow(-2.5), { relative: 2e-5 }],
    'add number': [(x) => x.add(0.1)],
    'mul number': [(x) => x.mul(-3)],
    'div number': [(x) => x.div(3)],
    'mul Infinity': [(x) => x.mul(Infinity)],
    'to int32': [(x) => x.to('int32').to('float32')],
    'to bool': [(x) => x.to('bool')],
    'gt number': [(x) => x.gt(1)],
    'ne number': [(x) => x.ne(0)],
  };
  for (const [name, [op, tolerance]] of Object.entries(unary)) {
    it(`${name} of ordinary and special values`, async () => {
      await expectParity(gpu(), () => op(tensor(special)), tolerance);
    });
  }

  const binary: Record<string, (x: Tensor, y: Tensor) => Tensor> = {
    add: (x, y) => x.add(y),
    sub: (x, y) => x.sub(y),
    mul: (x, y) => x.mul(y),
    div: (x, y) => x.div(y),
    maximum: (x, y) => x.maximum(y),
    eq: (x, y) => x.eq(y),
    ne: (x, y) => x.ne(y),
    lt: (x, y) => x.lt(y),
    le: (x, y) => x.le(y),
    gt: (x, y) => x.gt(y),
    ge: (x, y) => x.ge(y),
    where: (x, y) => where(x.gt(0), x, y),
  };
  for (const [name, op] of Object.entries(binary)) {
    it(`${name} of every pair of special values`, async () => {
      await expectParity(gpu(), () => op(tensor(left), tensor(right)));
    });
  }

  const power = defineOp({
    name: 'testPower',
    operands: { x: 'data', y: 'data' },
    infer: ([x]) => ({ dtype: x!.dtype, shape: x!.shape }),
    kernel: { kind: 'pointwise', expr: E.pow(E.input(0), E.input(1)) },
  });

  it('pow of two tensors keeps signs, zeros and infinities', async () => {
    // 1 to the power of NaN or ±Infinity is NaN in JavaScript and 1 in PyTorch.
    const ordinary = special.filter((x) => Number.isFinite(x) && Math.abs(x) < 4 && x !== 1e-20);
    const xs = ordinary.flatMap((x) => ordinary.map(() => x));
    const ys = ordinary.flatMap(() => ordinary);
    await expectParity(gpu(), () => bind1(power, [tensor(xs), tensor(ys)]), { relative: 2e-5 });
  });

  const wide = defineOp({
    name: 'testWide',
    operands: { x: 'data' },
    variadic: true,
    infer: ([x]) => ({ dtype: x!.dtype, shape: x!.shape }),
    kernel: {
      kind: 'pointwise',
      expr: Array.from({ length: 9 }, (_, i) => E.input(i)).reduce((sum, x, i) =>
        E.add(E.mul(sum, E.const(i / 4)), x),
      ),
    },
  });

  it('an expression of more operands than WebGPU binds is split', async () => {
    const numbers = (i: number) => tensor([i, i * i, 1 / (i + 1), -i]);
    await expectParity(gpu(), () =>
      bind1(
        wide,
        Array.from({ length: 9 }, (_, i) => numbers(i)),
      ),
    );
  });

  it('broadcasts in every dimension', async () => {
    const x = () =>
      tensor(
        new Float32Array(6).map((_, i) => i),
        { shape: [2, 1, 3] },
      );
    const y = () =>
      tensor(
        new Float32Array(4).map((_, i) => i * 10),
        { shape: [4, 1] },
      );
    await expectParity(gpu(), () => x().add(y()));
    await expectParity(gpu(), () => y().mul(x()));
    await expectParity(gpu(), () => x().sub(tensor(5)));
  });

  it('two elements of a large tensor a thread: broadcast, strided, in place, with a rest', async () => {
    const drawn = (body: () => Tensor) => () => {
      seed(5);
      return body();
    };
    const shape = [129, 517] as const;
    await expectParity(
      gpu(),
      drawn(() =>
        randn(shape)
          .add(randn([517]))
          .mul(randn([129, 1])),
      ),
    );
    await expectParity(
      gpu(),
      drawn(() => randn([517, 129]).t().sub(randn(shape)).tanh()),
    );
    await expectParity(
      gpu(),
      drawn(() => randn([129, 517, 2]).select(2, 1).add(1).contiguous()),
    );
    await expectParity(
      gpu(),
      drawn(() => {
        const x = randn([131, 520]);
        x.narrow(0, 1, 129)
          .narrow(1, 2, 517)
          .mul_(randn(shape))
          .add_(x.narrow(0, 1, 129).narrow(1, 2, 517));
        return x;
      }),
    );
  });

  it('reads strided operands and views with an offset', async () => {
    const x = () =>
      tensor(
        new Float32Array(24).map((_, i) => i),
        { shape: [2, 3, 4] },
      );
    await expectParity(gpu(), () =>
      x()
        .permute([2, 0, 1])
        .add(x().permute([2, 0, 1])),
    );
    await expectParity(gpu(), () =>
      x()
        .transpose(0, 2)
        .add(x().permute([2, 1, 0])),
    );
    await expectParity(gpu(), () =>
      x()
        .narrow(1, 1, 2)
        .mul(x().narrow(1, 0, 2)),
    );
    await expectParity(gpu(), () => x().select(2, 3).neg());
  });

  it('reads a strided tensor without an op', async () => {
    const x = () =>
      tensor(
        new Float32Array(24).map((_, i) => i),
        { shape: [2, 3, 4] },
      );
    await expectParity(gpu(), () => x().permute([2, 0, 1]));
    await expectParity(gpu(), () => x().narrow(0, 1, 1));
    await expectParity(gpu(), () => x().narrow(2, 1, 2));
    await expectParity(gpu(), () => tensor([1, 2]).expand([3, 2]));
  });

  it('computes integers exactly and keeps bools 0 or 1', async () => {
    const ints = () => tensor(new Int32Array([0, 1, -1, 7, -7, 16777215, -16777216]));
    await expectParity(gpu(), () => ints().mul(-1));
    await expectParity(gpu(), () => ints().add(1));
    await expectParity(gpu(), () => ints().to('bool'));
    await expectParity(gpu(), () => ints().div(2));
    await expectParity(gpu(), () => tensor([true, false, true]).mul(3));
    await expectParity(gpu(), () => tensor([true, false, true]).eq(tensor([true, true, false])));
  });

  it('handles tensors without elements and without dimensions', async () => {
    await expectParity(gpu(), () => tensor([]).add(1));
    await expectParity(gpu(), () => tensor(3).mul(tensor(4)));
    await expectParity(gpu(), () => tensor([]).sum());
  });

  it('splits indices exactly where float32 division is off', async () => {
    // Primes: no quotient of theirs is exact.
    const [rows, columns] = [1009, 1013];
    const data = new Float32Array(rows * columns).map((_, i) => i);
    await expectParity(gpu(), () => tensor(data, { shape: [rows, columns] }).transpose(0, 1));
  });

  it('reuses one kernel for all values of an attribute', async () => {
    const device = gpu();
    const results = await onDevice(device, async () => {
      const x = tensor([1, 2, 3]);
      const before = device.kernelStats.compiled;
      const reads = [0.1, 0.2, 0.3].map((rate) => x.mul(rate).data());
      expect(device.kernelStats.compiled - before).toBeLessThanOrEqual(1);
      return Promise.all(reads);
    });
    expect(results.map(([first]) => first)).toEqual([0.1, 0.2, 0.3].map(Math.fround));
  });
});
