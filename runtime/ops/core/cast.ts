import { expectNames } from '../../options/expect-options.ts';
import type { DType } from '../../spec/dtype.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { E } from '../expr/expr.ts';
import { defineOp, type OpRecord, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { expectDTypeName } from '../record/operand-dtypes.ts';
import { bind1 } from './bind.ts';

const x = E.input(0);

/** A gradient has the dtype of its value. */
const backToSource = saving({ x: 'shape' }, ({ x }, dy): Tensor => cast(dy, x.dtype));

const casts: { readonly [D in DType]: OpRecord } = {
  float32: defineOp({
    name: 'toFloat32',
    operands: { x: 'data' },
    infer: ([x]) => ({ dtype: 'float32', shape: x!.shape }),
    kernel: { kind: 'pointwise', expr: x },
    vjp: { x: backToSource },
  }),
  float64: defineOp({
    name: 'toFloat64',
    operands: { x: 'data' },
    infer: ([x]) => ({ dtype: 'float64', shape: x!.shape }),
    kernel: { kind: 'pointwise', expr: x },
    vjp: { x: backToSource },
  }),
  // Rounded when stored.
  float16: defineOp({
    name: 'toFloat16',
    operands: { x: 'data' },
    infer: ([x]) => ({ dtype: 'float16', shape: x!.shape }),
    kernel: { kind: 'pointwise', expr: x },
    vjp: { x: backToSource },
  }),
  bfloat16: defineOp({
    name: 'toBfloat16',
    operands: { x: 'data' },
    infer: ([x]) => ({ dtype: 'bfloat16', shape: x!.shape }),
    kernel: { kind: 'pointwise', expr: x },
    vjp: { x: backToSource },
  }),
  // Truncated, then reduced to the lowest 8 bits.
  uint8: defineOp({
    name: 'toUint8',
    operands: { x: 'data' },
    infer: ([x]) => ({ dtype: 'uint8', shape: x!.shape }),
    kernel: { kind: 'pointwise', expr: E.toInt(x) },
  }),
  // Truncates toward zero, as in PyTorch.
  int32: defineOp({
    name: 'toInt32',
    operands: { x: 'data' },
    infer: ([x]) => ({ dtype: 'int32', shape: x!.shape }),
    kernel: { kind: 'pointwise', expr: E.toInt(x) },
  }),
  bool: defineOp({
    name: 'toBool',
    operands: { x: 'data' },
    infer: ([x]) => ({ dtype: 'bool', shape: x!.shape }),
    kernel: { kind: 'pointwise', expr: E.ne(x, E.const(0)) },
  }),
};

/** Calls `body` with the tensors in the dtype, and frees the copies afterwards. */
export function casting(
  tensors: readonly Tensor[],
  dtype: DType,
  body: (operands: readonly Tensor[]) => Tensor,
): Tensor {
  if (allOf(dtype, tensors)) return body(tensors);
  return tidy(() => body(tensors.map((operand) => cast(operand, dtype))));
}

function allOf(dtype: DType, tensors: readonly Tensor[]): boolean {
  for (let i = 0; i < tensors.length; i++) if (tensors[i]!.dtype !== dtype) return false;
  return true;
}

/** Runs `body` on booleans as int32; nonzero elements of its result are true. */
export function counting(x: Tensor, body: (converted: Tensor) => Tensor): Tensor {
  if (x.dtype !== 'bool') return body(x);
  return tidy(() => cast(body(cast(x, 'int32')), 'bool'));
}

/** PyTorch's option of sums, products and softmax. */
export interface DTypeOption {
  /** The dtype of the computation and the result; by default it follows from the tensor's. */
  readonly dtype?: DType | null | undefined;
}

/** Runs `body` on the tensor in the dtype, and returns the result in it. */
export const inDType = (x: Tensor, dtype: DType, body: (converted: Tensor) => Tensor): Tensor =>
  tidy(() => cast(body(cast(x, dtype)), dtype));

/** Runs `body` in the options' dtype, by default the tensor's own. Throws ArgumentError for other options. */
export function withDType(
  op: string,
  x: Tensor,
  options: DTypeOption,
  body: (converted: Tensor) => Tensor,
): Tensor {
  expectNames(op, options, ['dtype']);
  return options.dtype ? inDType(x, options.dtype, body) : body(x);
}

/** Returns the tensor itself if it already has the dtype. */
export function cast(a: Tensor, dtype: DType): Tensor {
  expectTensors('cast', a);
  if (a.dtype === dtype) return a;
  expectDTypeName('cast', dtype);
  return bind1(casts[dtype], [a]);
}
