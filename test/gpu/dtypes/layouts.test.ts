/** Elements that share words, in any layout: threads write neighbours, and leave what lies between them. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contiguousMeta } from '../../../runtime/device/tensor-meta.ts';
import {
  batchNorm,
  cat,
  deviceGuard,
  layerNorm,
  pad,
  stack,
  Tensor,
  tensor,
  where,
} from '../../../runtime/index.ts';
import { type DType, dtypes } from '../../../runtime/spec/dtype.ts';
import { storedNumbers } from '../../../runtime/spec/stored-numbers.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';
import { expectParity } from '../parity.ts';
import { exact } from '../wgsl/checked.ts';
import { laidOut, shapeOf, unrepeatedOf, viewOf } from './laid-out.ts';

const packed = ['float16', 'bfloat16', 'uint8', 'bool'] as const satisfies readonly DType[];
const stored = [...packed, 'int32'] as const satisfies readonly DType[];

/** The whole memory of a tensor, also what a view leaves out. */
function memoryOf(x: Tensor): Tensor {
  const { dtype, device } = x;
  const holder = x.holderFor('test');
  const size = Math.floor(holder.bytes / device.elementBytes(dtype));
  return new Tensor({ dtype, shape: [size], strides: [1], offset: 0, device }, holder.retain());
}

const ramp = (dtype: DType, size = 23) =>
  tensor(
    storedNumbers(
      Array.from({ length: size }, (_, i) => (dtype === 'bool' ? (i % 3) & 1 : i + 1)),
      dtype,
      'test',
    ),
    { dtype },
  );

describe.skipIf(skipGpu)('gpu/dtypes/layouts', () => {
  const gpu = gpuForTests();

  // First, before other tests have compiled these kernels (other files have devices of their own).
  it('threads own the words of whole tensors, and share those of views', async () => {
    const device = gpu();
    for (const dtype of packed) {
      const [x, y] = deviceGuard(device, () => [ramp(dtype, 41), ramp(dtype, 41)]);
      const whole = () => [
        x.clone(),
        where(x.eq(y), x, y),
        x.to(dtype === 'float16' ? 'uint8' : 'float16'),
        dtypes[dtype].floating ? x.neg() : x.logicalNot(),
      ];
      const { atomic, compiled } = device.kernelStats;
      for (const result of whole()) {
        await result.data();
        result.dispose();
      }
      expect(device.kernelStats.compiled).toBeGreaterThan(compiled);
      expect(device.kernelStats.atomic).toBe(atomic);
      x.narrow(0, 3, 7).copy_(y.narrow(0, 3, 7));
      await x.data();
      expect(device.kernelStats.atomic).toBe(atomic + 1);
      // A view that begins with a word has its own.
      x.narrow(0, 4, 7).copy_(y.narrow(0, 4, 7));
      await x.data();
      expect(device.kernelStats.atomic).toBe(atomic + 1);
      for (const own of [x, y]) own.dispose();
    }
  });

  it('so do threads of rows that begin with words, and those that move elements', async () => {
    const device = gpu();
    const places = () => tensor(Int32Array.from({ length: 20 }, (_, i) => (i * 7) % 6));
    const owned: readonly ((x: Tensor) => Tensor)[] = [
      (x) => x.softmax(),
      (x) => x.logSoftmax(),
      (x) => layerNorm(x, [40]),
      (x) => batchNorm(x.reshape([3, 2, 40]), null, null, { training: true }),
      (x) => x.indexSelect(0, places()),
      (x) => x.gather(0, places().reshape([20, 1]).expand([20, 40]).clone()),
      (x) => x.indexAdd(0, places(), tensor(Array(800).fill(1)).reshape([20, 40]).to(x.dtype)),
      (x) => cat([x, x.narrow(0, 1, 2)]),
      (x) => x.flip([1]),
      (x) => pad(x, [1, 2, 3, 0]),
      (x) => x.tril(),
    ];
    const shared: readonly ((x: Tensor) => Tensor)[] = [
      (x) => x.narrow(1, 0, 39).softmax(),
      (x) => layerNorm(x.narrow(1, 0, 39).clone(), [39]),
      (x) => x.matmul(x.t()),
      (x) => x.sum(1),
      (x) => x.cumsum(0),
    ];
    const values = Array.from({ length: 240 }, (_, i) => Math.sin(i));
    const run = (body: (x: Tensor) => Tensor) =>
      body(tensor(values).reshape([6, 40]).to('float16')).to('float32');
    const atomicOf = async (body: (x: Tensor) => Tensor) => {
      const before = device.kernelStats.atomic;
      await expectParity(device, () => run(body), { relative: 2 ** -9, absolute: 1e-3 });
      return device.kernelStats.atomic - before;
    };
    for (const body of owned) expect(await atomicOf(body), String(body)).toBe(0);
    for (const body of shared) expect(await atomicOf(body), String(body)).toBeGreaterThan(0);
  });

  it.each(stored)('any layout of %s operands gives what the CPU gives', async (dtype) => {
    const isNumber = dtype !== 'bool';
    const bodies: ((x: Tensor, y: Tensor) => Tensor)[] = [
      (x, y) => (isNumber ? x.mul(y).add(x) : x.logicalXor(y)),
      (x, y) => where(x.gt(y), x, y),
      (x) => x.amax(1, { keepDim: true }),
      (x, y) => cat([x, y], 1),
      (x) => x.permute([2, 0, 1]).clone(),
      (x) => x.eq(x).logicalNot(),
      (x) => x,
    ];
    await fc.assert(
      fc.asyncProperty(shapeOf, viewOf, viewOf, fc.nat(6), async (shape, a, b, choice) => {
        const run = () => bodies[choice]!(laidOut(shape, a, 0, dtype), laidOut(shape, b, 1, dtype));
        await expectParity(gpu(), run, exact);
      }),
      { numRuns: 14, seed: 7 },
    );
  });

  it.each(stored)('writes into any view of %s change what the CPU changes', async (dtype) => {
    await fc.assert(
      fc.asyncProperty(shapeOf, unrepeatedOf, viewOf, async (shape, a, b) => {
        await expectParity(
          gpu(),
          () => {
            const target = laidOut(shape, a, 0, dtype);
            const source = laidOut(shape, b, 1, dtype);
            if (dtype === 'bool') target.copy_(source);
            else target.add_(source);
            return memoryOf(target);
          },
          exact,
        );
      }),
      { numRuns: 8, seed: 7 },
    );
  });

  it.each(packed)('parts of words of %s are written by ops, uploads and the CPU', async (dtype) => {
    for (const [start, length] of [
      [0, 3],
      [1, 1],
      [3, 6],
      [5, 18],
    ] as const) {
      await expectParity(
        gpu(),
        () => {
          const x = ramp(dtype);
          x.narrow(0, start, length).fill_(1);
          return memoryOf(x);
        },
        exact,
      );
      const device = gpu();
      const x = deviceGuard(device, () => ramp(dtype));
      const own = deviceGuard('cpu', () => ramp(dtype).dataSync());
      // Read from the middle of a word.
      expect(await x.narrow(0, start, length).data()).toEqual(own.slice(start, start + length));
      // Uploaded there.
      const data = deviceGuard('cpu', () => ramp(dtype, length).dataSync());
      const meta = contiguousMeta({ dtype, shape: [length] }, device);
      device.upload(data, meta, { holder: x.holderFor('test'), offset: start });
      own.set(data, start);
      expect(await x.data()).toEqual(own);
      // Computed by the CPU in place.
      deviceGuard('cpu', () => x.narrow(0, start, length).zero_());
      own.fill(0, start, start + length);
      expect(await x.data()).toEqual(own);
      x.dispose();
    }
  });

  it.each(packed)('parts of one result that begin inside of words: %s', async (dtype) => {
    const joined: (() => Tensor)[] = [
      () => cat([ramp(dtype, 1), ramp(dtype, 3), ramp(dtype, 2), ramp(dtype, 7), ramp(dtype, 4)]),
      () => cat([ramp(dtype, 8), ramp(dtype, 4), ramp(dtype, 3)]),
      () => ramp(dtype, 11).roll(3),
      () => ramp(dtype, 12).roll(4),
      () => pad(ramp(dtype, 9), [3, 2]),
      () => stack([ramp(dtype, 5), ramp(dtype, 5), ramp(dtype, 5)]),
    ];
    for (const join of joined) await expectParity(gpu(), join, exact);
  });

  it.each(packed)('two views of one memory are written in one dispatch: %s', async (dtype) => {
    await expectParity(
      gpu(),
      () => {
        const x = ramp(dtype, 12);
        x.narrow(0, 0, 5).copy_(x.narrow(0, 6, 5));
        x.narrow(0, 1, 4).copy_(x.narrow(0, 0, 4));
        return memoryOf(x);
      },
      exact,
    );
  });
});
