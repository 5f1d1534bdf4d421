import type { Holder } from '../../../runtime/device/holder.ts';
import { Tensor } from '../../../src/index.ts';

/**
 * For each tensor that can be reached: its shape and strides, and a number for each of its elements, the same where
 * two elements are one place in memory.
 */
export function layoutsOf(value: unknown): string[] {
  const known = new Map<Holder, Map<number, number>>();
  let next = 0;
  return [...tensorsIn(value)].map((tensor) => {
    const { holder, shape, strides } = tensor;
    if (!holder) return 'disposed';
    const places = known.get(holder) ?? new Map<number, number>();
    known.set(holder, places);
    const numbers = addressesOf(tensor).map((address) => {
      const number = places.get(address) ?? next++;
      places.set(address, number);
      return number;
    });
    return `[${shape}] by ${strides}: ${numbers}`;
  });
}

function addressesOf({ shape, strides, offset }: Tensor): number[] {
  return shape.reduce(
    (all, size, dim) =>
      all.flatMap((at) => Array.from({ length: size }, (_, i) => at + i * strides[dim]!)),
    [offset],
  );
}

function* tensorsIn(value: unknown, seen = new Set<object>()): Generator<Tensor> {
  if (typeof value !== 'object' || value === null || seen.has(value)) return;
  seen.add(value);
  if (!(value instanceof Tensor)) {
    for (const item of Object.values(value)) yield* tensorsIn(item, seen);
    return;
  }
  yield value;
  if (value.grad) yield* tensorsIn(value.grad, seen);
}
