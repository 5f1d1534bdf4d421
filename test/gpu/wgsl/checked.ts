import { expect } from 'vitest';
import type { GpuDevice } from '../../../runtime/device/gpu/gpu-device.ts';
import { type Tensor, tensor, tidy } from '../../../runtime/index.ts';
import { sizeOf } from '../../../runtime/spec/shape.ts';
import { toStatic } from '../../../src/to-static.ts';
import { expectSame } from '../../expect-same.ts';
import { onDevice } from '../open-gpu.ts';
import { expectClose, type Tolerance } from '../parity.ts';

/** Tolerance of results that are the CPU's to the bit. */
export const exact: Tolerance = { relative: 0, absolute: 0 };

/** Numbers from 0 up to, but without, 1. */
export function* drawn(salt: number): Generator<number, never> {
  let state = salt + 1;
  for (;;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

/** Whole numbers from `low` up to, but without, `high`: the same on every device, which computes nothing. */
export function whole(
  shape: readonly number[],
  low: number,
  high: number,
  salt: number,
): Tensor<'int32'> {
  const random = drawn(salt);
  const next = () => low + Math.floor(random.next().value * (high - low));
  return tensor(Int32Array.from({ length: sizeOf(shape) }, next), { shape });
}

/** Numbers from −1 to 1. */
export function numbers(shape: readonly number[], salt: number): Tensor<'float32'> {
  const random = drawn(salt);
  const next = () => random.next().value * 2 - 1;
  return tensor(Float32Array.from({ length: sizeOf(shape) }, next), { shape });
}

/**
 * Holds a function's results on the GPU against the CPU's, a captured run against the eager one to the bit, and the
 * memory of its program against the prediction. `operands` makes the same tensors on every device.
 */
export async function expectSameEverywhere<T extends Tensor[]>(
  gpu: GpuDevice,
  operands: () => T,
  run: (...given: T) => Tensor[],
  tolerance: Tolerance = exact,
): Promise<void> {
  const eagerly = async () => {
    const given = operands();
    const found = tidy(() => run(...given));
    const results = found.map(({ dtype, shape, device }) => ({ dtype, shape, device }));
    const data = await Promise.all(found.map((t) => t.data()));
    for (const t of found) t.dispose();
    return { given, results, data };
  };
  const cpu = await onDevice('cpu', eagerly);
  const own = await onDevice(gpu, eagerly);
  cpu.results.forEach(({ dtype, shape }, i) => {
    expect(own.results[i]).toEqual({ dtype, shape, device: gpu });
    expectClose(own.data[i]!, cpu.data[i]!, tolerance);
  });
  const captured = toStatic(run, { fullGraph: true });
  await onDevice(gpu, async () => {
    for (const t of captured(...own.given)) t.dispose();
    const { counter } = gpu.allocator;
    const before = counter.allocated;
    counter.reset();
    const found = captured(...own.given);
    const { peakBytes } = captured.programs()[0]!.stages!.planned.forward.predicted;
    expect(counter.peakAllocated - before).toBe(peakBytes);
    expectSame(await Promise.all(found.map((t) => t.data())), own.data);
    for (const t of found) t.dispose();
    // What check mode still runs would be counted later.
    await captured.checked();
  });
  for (const t of [...cpu.given, ...own.given]) t.dispose();
}
