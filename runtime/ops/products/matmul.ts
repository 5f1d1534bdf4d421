import * as productKernels from '../../device/cpu/matmul.ts';
import { named } from '../../device/kernel-op.ts';
import { formatSpec, type TensorMeta } from '../../device/tensor-meta.ts';
import { DTypeError, ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { dtypes } from '../../spec/dtype.ts';
import { broadcastShapes, sameShape, sizeOf } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add } from '../arithmetic/arithmetic.ts';
import { bind1 } from '../core/bind.ts';
import { expand } from '../core/broadcast.ts';
import { reshape, transpose } from '../movement/movement.ts';
import { defineOp, expectTensor, type OpRecord, saving } from '../record/define-op.ts';
import { expectOptional, expectTensors } from '../record/expect-tensors.ts';
import { cutBehind, cutsUpTo, type RowRule } from '../record/row-cuts.ts';

function check(a: TensorMeta, b: TensorMeta): void {
  const isWhole = !dtypes[a.dtype].floating;
  if (a.dtype === 'bool' || a.dtype !== b.dtype || (isWhole && !a.device.typedElements)) {
    throw new DTypeError({
      what: 'matmul: not numbers of one dtype',
      given: `${formatSpec(a)} and ${formatSpec(b)}`,
      expected: a.device.typedElements
        ? 'two tensors of one dtype, not bool'
        : 'two float32 tensors: the device stores integers as float32',
      remedy: "cast them: x.to('float32')",
    });
  }
  const inner = a.shape.at(-1);
  const other = b.shape.length === 1 ? b.shape[0] : b.shape.at(-2);
  if (a.shape.length === 0 || b.shape.length === 0 || inner !== other) {
    throw new ShapeError({
      what: "matmul: the inner dimensions don't agree",
      given: `${formatSpec(a)} and ${formatSpec(b)} (${inner ?? 'none'} and ${other ?? 'none'})`,
      expected: '[…,m,k] and […,k,n] with the same k',
      remedy: 'transpose one of them: x.transpose(-1, -2)',
    });
  }
}

/** The minimum number of rows that share the other factor, which is packed for each call. */
const leastRows = 384;

/** Cuts by batches; for two matrices, by the rows of the first. */
const productRows: RowRule = (inputs, outputs, attrs) => {
  const rank = outputs[0]!.shape.length;
  const options = { attrs: () => attrs };
  if (rank !== 2) return cutsUpTo(rank - 2, (lead) => cutBehind(lead, inputs, outputs, options));
  const shared = { ...options, whole: (index: number) => index === 1, least: leastRows };
  return cutsUpTo(1, (lead) => cutBehind(lead, inputs, outputs, shared));
};

export const matmulOp: OpRecord = defineOp({
  name: 'matmul',
  operands: { a: 'data', b: 'data' },
  dtypes: { a: 'number' },
  infer: ([a, b]) => {
    check(a!, b!);
    return { dtype: a!.dtype, shape: [...a!.shape.slice(0, -1), b!.shape.at(-1)!] };
  },
  kernel: named('matmul', productKernels.matmul),
  layout: 'any',
  rows: productRows,
  work: ([a], [out]) => 2 * sizeOf(out!.shape) * a!.shape.at(-1)!,
  vjp: {
    a: saving({ b: 'value' }, ({ b }, dy) => bind1(matmulOp, [dy, transpose(b, -1, -2)])),
    // In the layout of b: if b is a transposed weight, transposing the gradient back yields a contiguous tensor, which
    // becomes `.grad` without a copy.
    b: saving({ a: 'value', b: 'shape' }, ({ a, b }, dy) =>
      isTransposed(b)
        ? transpose(bind1(matmulOp, [transpose(dy, -1, -2), a]), -1, -2)
        : bind1(matmulOp, [transpose(a, -1, -2), dy]),
    ),
  },
});

/**
 * In place: x += a · b, float32 matrices, where x is the product of the first `start` entries along the inner
 * dimension. Bitwise identical to the whole product if `start` is a multiple of `productBlock` or smaller than it.
 * Only the compiler emits it.
 */
export const addMatmulOp = defineOp({
  name: 'addMatmul_',
  operands: { x: 'data', a: 'data', b: 'data' },
  attrs: { start: 'size' },
  fits: ([x, a, b]) =>
    sameShape(x!.shape, [...a!.shape.slice(0, -1), b!.shape.at(-1)!]) || 'a sum of products',
  dtypes: { x: 'float32', a: 'float32', b: 'float32' },
  infer: ([x, a, b]) => {
    check(a!, b!);
    return { dtype: x!.dtype, shape: x!.shape };
  },
  kernel: named('addMatmul', productKernels.addMatmul),
  layout: 'any',
  inPlace: true,
});

function isTransposed(x: TensorMeta): boolean {
  return x.strides.at(-2) === 1 && x.strides.at(-1) !== 1;
}

/** The matrix product over the last two dimensions; the others broadcast. A vector acts as a row or column. */
export function matmul(a: Tensor, b: Tensor): Tensor {
  expectTensors('matmul', a, b);
  expectTensor(matmulOp, b);
  check(a, b);
  if (a.rank === 2 && b.rank === 2) return bind1(matmulOp, [a, b]);
  return tidy(() => matmulOfAnyRank(a, b));
}

function matmulOfAnyRank(a: Tensor, b: Tensor): Tensor {
  if (a.rank === 1) {
    const product = matmul(reshape(a, [1, -1]), b.rank === 1 ? reshape(b, [-1, 1]) : b);
    const columns = b.rank === 1 ? [] : [b.shape.at(-1)!];
    return reshape(product, [...product.shape.slice(0, -2), ...columns]);
  }
  if (b.rank === 1) {
    const product = matmul(a, reshape(b, [-1, 1]));
    return reshape(product, product.shape.slice(0, -1));
  }
  if (b.rank === 2) {
    // One large product, and one gradient of b instead of a sum of many.
    const rows = bind1(matmulOp, [reshape(a, [sizeOf(a.shape.slice(0, -1)), a.shape.at(-1)!]), b]);
    return reshape(rows, [...a.shape.slice(0, -1), b.shape.at(-1)!]);
  }
  const lead = broadcastShapes(a.shape.slice(0, -2), b.shape.slice(0, -2), 'matmul');
  // Expanded operands are views with stride 0; the gradient of `expand` sums over them.
  return bind1(matmulOp, [
    expand(a, [...lead, ...a.shape.slice(-2)]),
    expand(b, [...lead, ...b.shape.slice(-2)]),
  ]);
}

function unfitFeatures(input: Tensor, weight: Tensor): ShapeError {
  const [out, features] = weight.shape;
  return new ShapeError({
    what: `linear: the layer takes ${features} features, not ${input.shape.at(-1) ?? 'a scalar'}`,
    given: `input ${formatSpec(input)} for a weight ${formatSpec(weight)}`,
    expected: `[..., ${features}], which becomes [..., ${out}]`,
    remedy: 'check the order of the dimensions, or the sizes given to new nn.Linear(in, out)',
  });
}

/** `input · weightᵀ + bias` with weight [out, in], or [in] for one output without a dimension, as in PyTorch's linear. */
export function linear(input: Tensor, weight: Tensor, bias: Tensor | null = null): Tensor {
  return naming('linear', () => {
    expectTensors('linear', input, weight);
    expectOptional('linear', bias);
    if (input.shape.at(-1) !== weight.shape.at(-1)) throw unfitFeatures(input, weight);
    return tidy(() => {
      const product = matmul(input, weight.rank === 1 ? weight : transpose(weight, 0, 1));
      return bias ? add(product, bias) : product;
    });
  });
}
