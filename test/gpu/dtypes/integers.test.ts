/** int32 of 32 bits: the CPU's bits, wherever float32 has too few of them. */

import { describe, expect, it } from 'vitest';
import {
  arange,
  cat,
  clamp,
  floorDivide,
  full,
  gather,
  maximum,
  minimum,
  remainder,
  scatter,
  scatterAdd,
  sort,
  type Tensor,
  tensor,
  topk,
  where,
} from '../../../runtime/index.ts';
import { bind1 } from '../../../runtime/ops/core/bind.ts';
import { opNamed, opTable } from '../../../runtime/ops/op-table.ts';
import { type DType, dtypes } from '../../../runtime/spec/dtype.ts';
import { forwardCases } from '../../ops/cases/forward-cases.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';
import { expectParity } from '../parity.ts';
import { exact, expectSameEverywhere } from '../wgsl/checked.ts';

const border = 2 ** 31;

/** Integers around which arithmetic changes: signs, float32's digits, the ends of int32. */
const special = Int32Array.of(
  ...[0, 1, -1, 2, -2, 3, -7, 31, 100, 65536, 46341],
  ...[2 ** 24 - 1, 2 ** 24, 2 ** 24 + 1, -(2 ** 24) - 1, 123456789],
  ...[border - 1, border - 2, -border, -border + 1],
);

const bytes = Uint8Array.of(0, 1, 2, 3, 7, 16, 100, 127, 128, 129, 254, 255);

/** Numbers around which casts to int32 change. */
const floats = Float32Array.of(
  ...[0, -0, 0.5, -0.5, 1.5, -1.5, 2 ** 24, 2 ** 24 + 2, 1e9, -1e9],
  ...[border, border - 128, -border, -border - 256, 3e9, -3e9, 1e30, NaN, Infinity, -Infinity],
);

const ints = (values: Int32Array = special) => tensor(values);

/** Many integers of 32 bits. */
function wide(shape: readonly number[], salt: number): Tensor {
  const size = shape.reduce((a, b) => a * b, 1);
  const data = new Int32Array(size).map((_, i) => Math.imul(i * 2 + salt, 0x9e3779b1));
  return tensor(data, { shape });
}

/** Ops of integers that are computed element by element, and how many they take. */
const pointwiseOps = Object.entries(forwardCases).flatMap(([name, cases]) => {
  if (opTable.get(name)?.kernel.kind !== 'pointwise') return [];
  const example = cases.find(({ inputs }) => inputs.every(({ dtype }) => dtype === 'int32'));
  // Casts to float64, which a GPU has not, are refused by name.
  if (!example || example.inputs.length > 2 || /^toFloat64$/.test(name)) return [];
  return [{ name, count: example.inputs.length, attrs: example.attrs ?? {} }];
});

describe.skipIf(skipGpu)('gpu/dtypes/integers', () => {
  const gpu = gpuForTests();
  const same = (body: () => Tensor) => expectParity(gpu(), body, exact);

  it('the ops are all of those that the table has', () => {
    expect(pointwiseOps.length).toBeGreaterThan(30);
  });

  it.each(pointwiseOps)('$name of every pair of special integers', async (given) => {
    const { name, count, attrs } = given;
    const op = opNamed(name);
    for (const values of [special, bytes]) {
      const run = () => {
        const { length } = values;
        const x = tensor(values).unsqueeze(1).expand([length, length]).clone();
        return bind1(op, count === 1 ? [x] : [x, tensor(values)], attrs);
      };
      await expectParity(gpu(), run, dtypes[run().dtype].floating ? { relative: 2e-5 } : exact);
    }
  });

  it('numbers beyond 2^24 as operands, attributes and literals', async () => {
    const large = [2 ** 24 + 1, -(2 ** 24) - 3, border - 1, -border];
    for (const value of large) {
      await same(() => ints().add(value));
      await same(() => ints().mul(value));
      await same(() => maximum(ints(), tensor(value, { dtype: 'int32' })));
      await same(() => ints().eq(value));
      await same(() => where(ints().gt(value), ints(), value));
      await same(() => clamp(ints(), Math.min(value, 5), Math.max(value, 5)));
      await same(() => full([7], value, { dtype: 'int32' }));
      await same(() => ints().fill_(value));
      await same(() => ints().maskedFill(ints().lt(0), value));
    }
    await same(() => tensor([[2 ** 24 + 1, -border]]));
  });

  it.each(['int32', 'bool', 'float32'] as const)(
    'casts of special numbers to %s',
    async (dtype) => {
      await same(() => tensor(floats).to(dtype));
      await same(() => ints().to(dtype));
      await same(() => tensor(floats).gt(0).to(dtype));
    },
  );

  it('integers by zero, by −1 and by each other', async () => {
    for (const make of [floorDivide, remainder, minimum, maximum]) {
      await same(() => make(ints().unsqueeze(1), ints()));
      await same(() => make(wide([30, 1], 1), wide([40], 5)));
    }
    await same(() => ints().fmod(-1));
    await same(() => ints().pow(2));
    await same(() =>
      ints()
        .unsqueeze(1)
        .pow(tensor(Int32Array.of(0, 1, 2, 3, 5, 31, 100))),
    );
  });

  it('sums, products and extremes wrap around', async () => {
    const reduced: ((x: Tensor) => Tensor)[] = [
      (x) => x.sum(),
      (x) => x.sum(1),
      (x) => x.sum(0, { keepDim: true }),
      (x) => x.prod(1),
      (x) => x.amax(1),
      (x) => x.amin(0),
      (x) => x.argmax(1),
      (x) => x.argmin(0),
      (x) => x.cumsum(1),
      (x) => x.cumprod(0),
      (x) => x.gt(0).sum(1),
      (x) => x.gt(0).sum(),
    ];
    for (const shape of [
      [4, 5],
      [3, 700],
      [2, 5000],
      [1200, 3],
    ]) {
      for (const body of reduced) await same(() => body(wide(shape, 3)));
      await same(() => wide(shape, 3).transpose(0, 1).sum(1));
    }
    // A part of the matrix in two stages.
    await same(() => wide([3, 9000], 3).narrow(1, 5, 8800).sum(1));
  });

  it('equal and extreme integers in order, and the first of them', async () => {
    const tied = () => cat([ints(), ints(), wide([20], 3)]);
    for (const descending of [false, true]) {
      await same(() => sort(tied(), { descending })[0]);
      await same(() => sort(tied(), { descending })[1]);
      await same(() => sort(wide([2, 1300], 7), { descending })[0]);
    }
    await same(() => topk(tied(), 5)[0]);
    await same(() => topk(tied(), 5)[1]);
    const ends = () => tensor(Int32Array.of(-border, -border, border - 1, border - 1));
    for (const x of [ends, tied]) {
      await same(() => x().argmax(0));
      await same(() => x().argmin(0));
    }
  });

  it('elements chosen, written and added by index', async () => {
    const places = () => tensor(Int32Array.from({ length: 24 }, (_, i) => (i * 5) % 7));
    const x = () => wide([7], 1);
    await same(() => gather(x(), 0, places()));
    await same(() => x().indexSelect(0, places()));
    await same(() => scatter(x(), 0, places(), wide([24], 9)));
    await same(() => scatterAdd(x(), 0, places(), wide([24], 9)));
    await same(() => wide([7, 3], 1).indexAdd(0, places(), wide([24, 3], 9)));
    await same(() => x().roll(2).flip([0]));
    await same(() => wide([4, 5], 1).diagonal().clone());
    await same(() => wide([4, 5], 1).tril());
  });

  it('ranges wrap around, and have every digit', async () => {
    await same(() => arange(2 ** 24, 2 ** 24 + 9));
    await same(() => arange(border - 5, border - 1));
    await same(() => arange(-border, -border + 40, 7));
    await same(() => arange(0, 5, 0.5, { dtype: 'int32' }));
    await same(() => arange(0, 4000000001, 1000000000, { dtype: 'int32' }));
  });

  it('products of matrices', async () => {
    await same(() => wide([5, 6], 1).matmul(wide([6, 7], 2)));
    await same(() => wide([2, 40, 50], 1).matmul(wide([2, 60, 50], 2).transpose(1, 2)));
    await same(() => wide([9], 1).matmul(wide([9, 2], 2)));
  });

  it('writes in place and to views', async () => {
    const writes: ((x: Tensor) => Tensor)[] = [
      (x) => x.add_(wide([5], 4)),
      (x) => x.mul_(2 ** 24 + 1),
      (x) => x.narrow(1, 1, 3).sub_(border - 1),
      (x) => x.transpose(0, 1).copy_(wide([5, 4], 8)),
      (x) => x.select(0, 2).copy_(x.select(0, 1).clone()),
      (x) => x.narrow(0, 0, 2).copy_(x.narrow(0, 1, 2)),
      (x) => x.narrow(1, 2, 2).fill_(-border),
      (x) => x.relu_(),
    ];
    for (const write of writes) {
      await same(() => {
        const x = wide([4, 5], 1);
        write(x);
        return x;
      });
    }
  });

  it('captured chains have the bits of eager ones, and the memory that was predicted', async () => {
    const operands = (): [Tensor, Tensor, Tensor] => [
      wide([6, 7], 1),
      wide([7], 2),
      tensor(floats.slice(0, 7)),
    ];
    const chains: ((x: Tensor, y: Tensor, z: Tensor) => Tensor[])[] = [
      (x, y) => [
        x
          .mul(y)
          .add(2 ** 24 + 1)
          .sub(x),
      ],
      (x, y) => [where(x.gt(y), x.mul(3), y.neg()), x.le(y)],
      (x, y, z) => [x.add(y).to('float32').mul(z).to('int32')],
      (x, y) => [x.mul(y).sum(1), x.add(y).sum()],
      (x, y, z) => [z.to('int32').add(x).remainder(1000).eq(7).to('int32')],
      (x, y) => [x.matmul(y).add(2 ** 30), x.sub(y).amax(0)],
      (x, y) => [
        cat([x, x.add(y)])
          .gt(0)
          .to('float32')
          .mean(),
      ],
      (x, y) => [gather(x, 1, y.remainder(7).expand([6, 7])).add(1)],
    ];
    for (const chain of chains) await expectSameEverywhere(gpu(), operands, chain);
  });

  it('a result takes the memory of an operand of another dtype', async () => {
    const make = (): [Tensor] => [tensor(Float32Array.from({ length: 100 }, (_, i) => i * 1e8))];
    const cast = (to: DType) => (x: Tensor) => [x.add(1).to(to).add(1)];
    await expectSameEverywhere(gpu(), make, cast('int32'));
    await expectSameEverywhere(
      gpu(),
      (): [Tensor] => [wide([100], 1)],
      (x) => [x.add(1).to('float32').mul(0.5)],
    );
  });
});
