import { collapse } from '../../../runtime/device/cpu/core/loops.ts';
import type { TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import { broadcastStrides, type Shape, sameShape } from '../../../runtime/spec/shape.ts';

/**
 * Returns the number of elements in the innermost loop over operands of one shape, or of shapes that broadcast to it.
 */
export function innerLength(shape: Shape, operands: readonly TensorMeta[]): number {
  const strides: (readonly number[])[] = [];
  let whole: readonly number[] | undefined;
  for (const meta of operands) {
    if (!sameShape(meta.shape, shape)) {
      strides.push(broadcastStrides(meta.shape, meta.strides, shape));
    } else if (!whole || !sameShape(whole, meta.strides)) {
      // Most operands have the full shape and one layout, so they split the loop identically.
      strides.push(meta.strides);
      whole ??= meta.strides;
    }
  }
  return collapse(shape, strides).shape.at(-1) ?? 1;
}

/** Loops of at least this length cost little more than longer ones. */
const longEnough = 32;
/** With fewer elements than this, an op costs less than its launch. */
const fewElements = 512;

/**
 * Whether parts over `size` elements with inner loops of lengths `a` and `b` run well in one loop of length `both`. An
 * operand that broadcasts along columns splits the loop of all parts into rows, and the last elements of each row are
 * computed one by one.
 */
export function mayShareLoop(size: number, both: number, a: number, b: number): boolean {
  return size <= fewElements || both >= longEnough || both >= Math.max(a, b);
}
