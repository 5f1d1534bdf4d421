import { collapse } from '../../../runtime/device/cpu/loops.ts';
import type { TensorMeta } from '../../../runtime/tensor/meta.ts';
import { broadcastStrides, type Shape } from '../../../runtime/tensor/shape.ts';

/** Elements of the innermost loop over operands of one shape, or of shapes that broadcast to it. */
export function innerLength(shape: Shape, operands: readonly TensorMeta[]): number {
  const strides = operands.map((meta) => broadcastStrides(meta.shape, meta.strides, shape));
  return collapse(shape, strides).shape.at(-1) ?? 1;
}

/** Loops from this length on cost no more than longer ones. */
const longEnough = 64;

/**
 * Whether parts with loops of these lengths run well in one loop of length `both`: an operand that broadcasts by
 * columns cuts the loop of all parts into rows, and the last elements of a row are computed one by one.
 */
export function mayShareLoop(both: number, a: number, b: number): boolean {
  return both >= longEnough || both >= Math.max(a, b);
}
