import { collapse } from '../../../runtime/device/cpu/core/loops.ts';
import type { TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import { broadcastStrides, type Shape, sameShape } from '../../../runtime/spec/shape.ts';

/** Elements of the innermost loop over operands of one shape, or of shapes that broadcast to it. */
export function innerLength(shape: Shape, operands: readonly TensorMeta[]): number {
  const strides: (readonly number[])[] = [];
  let whole: readonly number[] | undefined;
  for (const meta of operands) {
    if (!sameShape(meta.shape, shape)) {
      strides.push(broadcastStrides(meta.shape, meta.strides, shape));
    } else if (!whole || !sameShape(whole, meta.strides)) {
      // Most operands have the whole shape and one layout: that cuts the loop as one of them does.
      strides.push(meta.strides);
      whole ??= meta.strides;
    }
  }
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
