/**
 * float16 and bfloat16 in functions composed of several ops: the ops compute in float32 and only the result is rounded,
 * so that intermediate values don't overflow or lose precision.
 */

import { type DType, promote } from '../../spec/dtype.ts';
import { isHalf } from '../../spec/half.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { cast } from './cast.ts';

/** Returns the dtype that an op computes in: float32 for half precision. */
export const wide = (dtype: DType): DType => (isHalf(dtype) ? 'float32' : dtype);

/** Whether any tensor operand has half precision. */
export function anyHalf(...operands: readonly (Tensor | number | null)[]): boolean {
  for (let i = 0; i < operands.length; i++) {
    const operand = operands[i];
    if (typeof operand === 'object' && operand !== null && isHalf(operand.dtype)) return true;
  }
  return false;
}

const widened = <T extends Tensor | number | null>(operand: T): T =>
  (anyHalf(operand) ? cast(operand as Tensor, 'float32') : operand) as T;

const isFloating = (operand: Tensor | number | null): operand is Tensor =>
  typeof operand === 'object' && operand !== null;

/**
 * Calls `body` with half-precision operands in float32. The result is rounded to the promoted dtype of the
 * operands, or to `dtype`.
 */
export function roundedOnce<const T extends readonly (Tensor | number | null)[]>(
  operands: T,
  body: (...wide: T) => Tensor,
  dtype?: DType,
): Tensor {
  const target =
    dtype ??
    operands
      .filter(isFloating)
      .map((x) => x.dtype)
      .reduce(promote);
  return tidy(() => cast(body(...(operands.map(widened) as unknown as T)), target));
}
