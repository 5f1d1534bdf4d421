/** PyTorch's dtypes in ours. */

import { cast } from '../../runtime/ops/core/cast.ts';
import { type DType, dtypes } from '../../runtime/spec/dtype.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import type { Arguments } from './arguments.ts';

/** int64 is int32 here. */
export function dtypeNamed(name: string): DType {
  if (name in dtypes) return name as DType;
  if (name === 'int64') return 'int32';
  throw new TypeError(`no dtype for ${name}`);
}

/** The dtype asked for by name, or `fallback`. */
export function dtypeOf(given: Arguments, fallback: DType): DType {
  const asked = given.get('dtype') as { readonly dtype: string } | undefined;
  return asked ? dtypeNamed(asked.dtype) : fallback;
}

/** The input, in the dtype that was asked for. */
export function inDtype(given: Arguments): Tensor {
  const x = given.tensor('input');
  return cast(x, dtypeOf(given, x.dtype));
}
