/**
 * float16 and bfloat16 in functions made of several ops: the ops compute in float32 and only the result is
 * rounded, so that nothing overflows or loses digits on the way.
 */

import { type DType, promote } from '../tensor/dtype.ts';
import { isHalf } from '../tensor/half.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { cast } from './cast.ts';

/** The dtype that an op computes in: float32 for halves. */
export const wide = (dtype: DType): DType => (isHalf(dtype) ? 'float32' : dtype);

const hasHalf = (tensors: readonly Tensor[]): boolean => {
  for (let i = 0; i < tensors.length; i++) if (isHalf(tensors[i]!.dtype)) return true;
  return false;
};

/** Calls `body` with halves in float32; its result is rounded to `dtype`, by default the promoted one. */
export function roundedOnce(
  tensors: readonly Tensor[],
  body: (operands: readonly Tensor[]) => Tensor,
  dtype?: DType,
): Tensor {
  if (!hasHalf(tensors)) return body(tensors);
  const target = dtype ?? tensors.map((x) => x.dtype).reduce(promote);
  return tidy(() => cast(body(tensors.map((x) => cast(x, wide(x.dtype)))), target));
}
