/** The eager library on the CPU, as tests of values use it. */

// Everything: tests over the op table must see all of it.
import '../../runtime/index.ts';
import { expect } from 'vitest';
import { cpu } from '../../runtime/device/cpu/cpu-device.ts';
import type { Shape } from '../../runtime/spec/shape.ts';
import { sizeOf } from '../../runtime/spec/shape.ts';

export { tensor } from '../../runtime/ops/core/create.ts';
export type { Tensor } from '../../runtime/tensor/tensor.ts';

/** Bytes in use on the CPU now, alignment included. */
export function allocated(): number {
  return cpu.allocator.counter.allocated;
}

export interface Tolerance {
  readonly relative?: number;
  readonly absolute?: number;
}

/** NaN equals NaN, infinities themselves; finite numbers lie within the tolerance. */
export function expectClose(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  what: string,
  { relative = 1e-5, absolute = 1e-6 }: Tolerance = {},
): void {
  expect(actual.length, `${what}: number of elements`).toBe(expected.length);
  for (let i = 0; i < expected.length; i++) {
    const [a, e] = [actual[i]!, expected[i]!];
    if (Object.is(a, e) || a === e) continue;
    if (Math.abs(a - e) <= absolute + relative * Math.abs(e)) continue;
    expect.fail(`${what}: element ${i} is ${a}, expected ${e}`);
  }
}

/** The same numbers in every run, in [-1, 1), with at least 0.01 between any two. */
export function spread(shape: Shape, salt = 0): Float32Array {
  const size = sizeOf(shape);
  const order = Array.from({ length: size }, (_, i) => i);
  let state = 12345 + salt * 7919;
  for (let i = size - 1; i > 0; i--) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    const j = (state >>> 8) % (i + 1);
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return Float32Array.from(order, (place) => ((place + 0.5) / size) * 2 - 1);
}
