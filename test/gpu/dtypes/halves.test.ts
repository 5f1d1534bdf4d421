/** float16 and bfloat16: the CPU's bits, computed in float32 and rounded when they are stored. */

import { describe, expect, it } from 'vitest';
import { grad } from '../../../runtime/backward/grad.ts';
import {
  conv2d,
  crossEntropy,
  deviceGuard,
  relu,
  type Tensor,
  tensor,
  where,
} from '../../../runtime/index.ts';
import { decodeHalf, encodeHalf, type HalfDType } from '../../../runtime/spec/half.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';
import { expectClose, expectParity } from '../parity.ts';
import { exact, expectSameEverywhere, numbers, whole } from '../wgsl/checked.ts';

const halves: readonly HalfDType[] = ['float16', 'bfloat16'];

const everyHalf = Uint16Array.from({ length: 2 ** 16 }, (_, bits) => bits);

/** Numbers at, and next to, the middle between two halves, where rounding changes; and of every other size. */
function roundingCases(dtype: HalfDType): Float32Array {
  const positive = decodeHalf(everyHalf.slice(0, 0x7c00), dtype);
  const bits = new Uint32Array(positive.length * 3);
  const floats = new Float32Array(bits.buffer);
  positive.forEach((value, i) => {
    floats.fill((value + (positive[i + 1] ?? value)) / 2, i * 3, i * 3 + 3);
    if (bits[i * 3]! > 0) bits[i * 3]!--;
    bits[i * 3 + 2]!++;
  });
  const others = Uint32Array.from({ length: 2 ** 14 }, (_, i) => Math.imul(i, 0x9e3779b1));
  const all = [...floats, ...new Float32Array(others.buffer)];
  return Float32Array.from(all.flatMap((value) => [value, -value])).filter(
    // WebGPU may take subnormal numbers for 0, and half a subnormal one rounds to a number in bfloat16.
    (value) => value === 0 || !(Math.abs(value) < 2 ** -125),
  );
}

/** Bits whose NaN all are one. */
function canonical(bits: ArrayLike<number>, dtype: HalfDType): number[] {
  const values = decodeHalf(bits, dtype);
  return Array.from(bits, (own, i) => (Number.isNaN(values[i]!) ? 0x7fff : own));
}

const special = [0, -0, 1, -1.5, 0.1, 3, 1e-3, 2 ** -24, 6e-8, 2048, 2049, 65504, -65504, 300];

describe.skipIf(skipGpu)('gpu/dtypes/halves', () => {
  const gpu = gpuForTests();

  it.each(halves)('every %s becomes the float32 that it is', async (dtype) => {
    const x = deviceGuard(gpu(), () => tensor(everyHalf, { dtype }).to('float32'));
    const isSubnormal = (value: number) => value !== 0 && Math.abs(value) < 2 ** -126;
    const expected = decodeHalf(everyHalf, dtype);
    const actual = await x.data();
    expectClose(
      Float32Array.from(actual, (own, i) => (isSubnormal(expected[i]!) ? 0 : own)),
      expected.map((own) => (isSubnormal(own) ? 0 : own)),
      exact,
    );
    x.dispose();
  });

  it.each(halves)('float32 is rounded to the nearest %s, halves to even', async (dtype) => {
    const floats = roundingCases(dtype);
    const x = deviceGuard(gpu(), () => tensor(floats).to(dtype));
    const [actual, expected] = [await x.data(), encodeHalf(floats, dtype)];
    expect(canonical(actual, dtype)).toEqual(canonical(expected, dtype));
    x.dispose();
  });

  it.each(halves)('arithmetic of every pair of special %s numbers', async (dtype) => {
    const bits = encodeHalf(special, dtype);
    const pairs: ((x: Tensor, y: Tensor) => Tensor)[] = [
      (x, y) => x.add(y),
      (x, y) => x.sub(y),
      (x, y) => x.mul(y),
      (x, y) => where(x.gt(y), x, y),
      (x, y) => x.add(y, 3).to('float32'),
      (x, y) => x.mul(y).to('int32'),
    ];
    for (const pair of pairs) {
      const run = () => pair(tensor(bits, { dtype }).unsqueeze(1), tensor(bits, { dtype }));
      const [cpu, own] = [deviceGuard('cpu', run), deviceGuard(gpu(), run)];
      const [expected, actual] = [cpu.dataSync(), await own.data()];
      if (cpu.dtype === dtype) {
        expect(canonical(actual, dtype)).toEqual(canonical(expected, dtype));
      } else expectClose(actual, expected, exact);
      for (const t of [cpu, own]) t.dispose();
    }
  });

  it.each(halves)('captured chains of %s round between ops, as eager ones do', async (dtype) => {
    const operands = (): [Tensor, Tensor, Tensor] => [
      numbers([6, 7], 1).to(dtype),
      numbers([7], 2).to(dtype),
      numbers([7, 5], 3).to(dtype),
    ];
    const chains: ((x: Tensor, y: Tensor, w: Tensor) => Tensor[])[] = [
      (x, y) => [x.mul(y).add(x).sub(y).mul(3)],
      (x, y) => [x.mul(y), x.mul(y).add(1), x.gt(y), x.to('float32').add(y)],
      (x, y) => [relu(x).mul_(2).add_(y)],
      (x, y) => [where(x.lt(0), x.mul(7), y).to('float32').mul(3).to(dtype)],
    ];
    for (const chain of chains) await expectSameEverywhere(gpu(), operands, chain);
    // Sums in another order: bits next to the CPU's.
    const sums: ((x: Tensor, y: Tensor, w: Tensor) => Tensor[])[] = [
      (x, _, w) => [relu(x.matmul(w).add(1)).mul(0.3)],
      (x, y) => [x.sum(1).mul(y.sum()), x.softmax(), x.mul(x).sum(0)],
    ];
    const next = { relative: 0, absolute: 1 };
    for (const sum of sums) await expectSameEverywhere(gpu(), operands, sum, next);
  });

  it('a step with gradients in float16', async () => {
    const operands = (): [Tensor, Tensor, Tensor, Tensor] => [
      numbers([12, 20], 1).half(),
      numbers([20, 16], 2).half().requiresGrad_(),
      numbers([16], 3).half().requiresGrad_(),
      whole([12], 0, 16, 5),
    ];
    const step = (x: Tensor, w: Tensor, b: Tensor, labels: Tensor) => {
      const loss = crossEntropy(relu(x.matmul(w).add(b)), labels);
      const [dw, db] = grad([loss], [w, b]);
      const updated = [w.detach().sub(dw!, 0.5), b.detach().sub(db!, 0.5)];
      return [loss.detach(), dw!, ...updated].map((own) => own.float());
    };
    await expectSameEverywhere(gpu(), operands, step, { relative: 2e-3, absolute: 2e-4 });
  });

  it('products, convolutions and norms read and write halves', async () => {
    const bodies: (() => Tensor)[] = [
      () =>
        numbers([70, 40], 1)
          .half()
          .matmul(numbers([40, 66], 2).half()),
      () => conv2d(numbers([2, 4, 9, 9], 1).half(), numbers([12, 4, 3, 3], 2).half()),
      () => numbers([30, 64], 1).half().softmax(),
      () => numbers([4, 700], 1).half().sum(1),
      () => numbers([4, 700], 1).half().cumsum(1),
    ];
    for (const body of bodies) {
      await expectParity(gpu(), () => body().float(), { relative: 2 ** -9, absolute: 2e-3 });
    }
  });
});
