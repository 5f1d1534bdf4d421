import { collapse } from '../../../runtime/device/cpu/loops.ts';
import type { TensorMeta } from '../../../runtime/tensor/meta.ts';
import { broadcastStrides, type Shape } from '../../../runtime/tensor/shape.ts';

/** Elements of the innermost loop over operands of one shape, or of shapes that broadcast to it. */
export function innerLength(shape: Shape, operands: readonly TensorMeta[]): number {
  const strides = operands.map((meta) => broadcastStrides(meta.shape, meta.strides, shape));
  return collapse(shape, strides).shape.at(-1) ?? 1;
}

/** Loops from this length on cost little more than longer ones. */
const longEnough = 32;
/** With so few elements in all, an op costs less than its launch. */
const fewElements = 512;

/**
 * Whether parts over `size` elements with loops of lengths `a` and `b` run well in one loop of length `both`: an operand that broadcasts by
 * columns cuts the loop of all parts into rows, and the last elements of a row are computed one by one.
 */
export function mayShareLoop(size: number, both: number, a: number, b: number): boolean {
  return size <= fewElements || both >= longEnough || both >= Math.max(a, b);
}
