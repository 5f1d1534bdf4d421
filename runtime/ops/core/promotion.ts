import type { Attrs } from '../../device/kernel-op.ts';
import { formatSpec, type TensorMeta } from '../../device/tensor-meta.ts';
import { DTypeError } from '../../errors/errors.ts';
import { type DType, dtypes, promote } from '../../spec/dtype.ts';
import { broadcastShapes } from '../../spec/shape.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import type { Expr } from '../expr/expr.ts';
import { isInteger } from '../numbers/number-arithmetic.ts';
import { expectTensor, type OpRecord } from '../record/define-op.ts';
import { bind1 } from './bind.ts';
import { casting } from './cast.ts';

/**
 * Dtypes of pointwise ops, as in PyTorch. Two tensors compute in the later dtype of bool, int32, float32, float64. With
 * an integer tensor, an integer number keeps the dtype and a fraction makes it float32. Functions of real numbers (exp,
 * div, pow with a fraction …) return float32 for integers; comparisons return bool.
 */

export function inferBinary(name: string, output?: DType) {
  return ([a, b]: readonly TensorMeta[]) => {
    if (a!.dtype !== b!.dtype) {
      throw new DTypeError({
        what: `${name}: operands of different dtypes`,
        given: `${formatSpec(a!)} and ${formatSpec(b!)}`,
        expected: 'equal dtypes',
        remedy: "cast one of them: x.to('float32')",
      });
    }
    return { dtype: output ?? a!.dtype, shape: broadcastShapes(a!.shape, b!.shape, name) };
  };
}

export function inferFloat(name: string) {
  return ([a]: readonly TensorMeta[]) => {
    if (!dtypes[a!.dtype].floating) {
      throw new DTypeError({
        what: `${name}: not a floating-point tensor`,
        given: formatSpec(a!),
        expected: 'float32',
        remedy: "cast it: x.to('float32')",
      });
    }
    return { dtype: a!.dtype, shape: a!.shape };
  };
}

/** Throws for booleans, which can't be subtracted. */
export function rejectBool(name: string, x: TensorMeta): void {
  if (x.dtype !== 'bool') return;
  throw new DTypeError({
    what: `${name}: booleans have no differences`,
    given: formatSpec(x),
    expected: 'float32 or int32',
    remedy: 'compare with eq() or ne(), or cast first',
  });
}

export const inferSame = ([a]: readonly TensorMeta[]) => ({ dtype: a!.dtype, shape: a!.shape });
export const inferBool = ([a]: readonly TensorMeta[]) => ({
  dtype: 'bool' as const,
  shape: a!.shape,
});

export const pointwise = (expr: Expr) => ({ kind: 'pointwise', expr }) as const;

export type Operand = Tensor | number;

/** Binds the op with both operands in the promoted dtype (bool < int32 < float32 < float64). */
export function bindPromoted(op: OpRecord, a: Tensor, b: Tensor): Tensor {
  expectTensor(op, a);
  expectTensor(op, b);
  // Avoids a closure in the common case.
  if (a.dtype === b.dtype) return bind1(op, [a, b]);
  return casting([a, b], promote(a.dtype, b.dtype), (operands) => bind1(op, operands));
}

/** Binds the op with both operands in the promoted floating-point dtype. */
export function bindFloats(op: OpRecord, a: Tensor, b: Tensor): Tensor {
  expectTensor(op, a);
  expectTensor(op, b);
  const dtype = floating(promote(a.dtype, b.dtype));
  return casting([a, b], dtype, (operands) => bind1(op, operands));
}

export function bindFloat(op: OpRecord, a: Tensor, attrs: Attrs = {}): Tensor {
  expectTensor(op, a);
  if (dtypes[a.dtype].floating) return bind1(op, [a], attrs);
  return casting([a], floating(a.dtype), (operands) => bind1(op, operands, attrs));
}

export function bindNumber(op: OpRecord, a: Tensor, value: number): Tensor {
  expectTensor(op, a);
  if (dtypes[a.dtype].floating) return bind1(op, [a], { value });
  return casting([a], joinedBy(a.dtype, value), (operands) => bind1(op, operands, { value }));
}

export function floating(dtype: DType): DType {
  return dtypes[dtype].floating ? dtype : 'float32';
}

/** Returns the dtype promoted with a number: an integer doesn't change an integer dtype. */
export function joinedBy(dtype: DType, number: number): DType {
  if (dtypes[dtype].floating) return dtype;
  return isInteger(number) ? counted(dtype) : 'float32';
}

/** Returns int32 for booleans; every other dtype unchanged. */
export function counted(dtype: DType): DType {
  return dtype === 'bool' ? 'int32' : dtype;
}
