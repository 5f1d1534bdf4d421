/** Launches of a program are issued again as they were: unless numbers, buffers, offsets or texts are others. */

import { describe, expect, it } from 'vitest';
import { deviceGuard, type Tensor, tensor } from '../../../runtime/index.ts';
import { toStatic } from '../../../src/to-static.ts';
import '../../../runtime/tensor-methods/methods.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';
import { expectClose } from '../parity.ts';

const numbers = Float32Array.from({ length: 24 }, (_, i) => 0.5 + i / 8);

describe.skipIf(skipGpu)('gpu/wgsl/repeated', () => {
  const gpu = gpuForTests();
  const onGpu = <T>(body: () => T): T => deviceGuard(gpu(), body);

  /** Operands live as long as the file: a collection that frees one gives the next result another buffer. */
  const operands: Tensor[] = [];
  const operand = (values: Float32Array): Tensor => {
    const x = onGpu(() => tensor(values));
    operands.push(x);
    return x;
  };

  /** The launches that a call repeats. */
  async function repeated(call: () => Tensor, wanted: readonly number[]): Promise<number> {
    const before = gpu().kernelStats.repeated;
    const result = onGpu(call);
    const count = gpu().kernelStats.repeated - before;
    expectClose(await result.data(), wanted);
    result.dispose();
    return count;
  }

  it('numbers that change go along, and exponents with another text do, too', async () => {
    const x = operand(numbers);
    const scaled = toStatic((x: Tensor, k: number) => x.mul(k).add(1).sum().div(k));
    const wanted = (k: number) => [numbers.reduce((total, each) => total + each * k + 1, 0) / k];
    // The number becomes one that changes, and a plan made between calls replaces the first one.
    for (const k of [2, 3, 0.25]) await repeated(() => scaled(x, k), wanted(k));
    await scaled.ready();
    // The first run of a plan is checked, with buffers of its own; the second one finds its place among those.
    for (const k of [5, 6]) await repeated(() => scaled(x, k), wanted(k));
    for (const k of [0.25, 0.25, 7]) {
      expect(await repeated(() => scaled(x, k), wanted(k)), `by ${k}`).toBe(2);
    }
    const power = toStatic((x: Tensor, k: number) => x.pow(k).mul(2));
    for (const k of [2, 3, 2, 0.5, 1.5, 2]) {
      await repeated(
        () => power(x, k),
        Array.from(numbers, (each) => 2 * each ** k),
      );
    }
  });

  it('tensors in other buffers, and views at other offsets', async () => {
    const grown = toStatic((x: Tensor) => x.mul(3).add(1));
    const wanted = (values: Float32Array) => Array.from(values, (each) => each * 3 + 1);
    for (let i = 0; i < 4; i++) {
      const values = numbers.map((each) => each + i);
      const x = operand(values);
      await repeated(() => grown(x), wanted(values));
      await grown.ready();
      // The first run of a plan is checked, with buffers of its own; the second one finds its place among those.
      for (let run = 0; run < 2; run++) await repeated(() => grown(x), wanted(values));
      expect(await repeated(() => grown(x), wanted(values))).toBeGreaterThan(0);
    }
    const base = operand(numbers);
    for (const start of [0, 3, 8, 3]) {
      const values = numbers.slice(start, start + 16);
      await repeated(() => grown(base.narrow(0, start, 16)), wanted(values));
    }
  });

  it('a write in place between calls, and an operand that is its own target', async () => {
    const x = operand(numbers);
    const step = toStatic((x: Tensor, y: Tensor) => {
      x.mul_(0.5).add_(y);
      return x.add(0);
    });
    let own = Array.from(numbers);
    const y = operand(numbers);
    for (let i = 0; i < 3; i++) {
      own = own.map((each, at) => each * 0.5 + numbers[at]!);
      await repeated(() => step(x, y), own);
    }
    own = own.map((each) => each * 0.5 + each * 0.5);
    await repeated(() => step(x, x), own);
  });
});
