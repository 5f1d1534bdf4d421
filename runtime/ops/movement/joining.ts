/** Functions that join tensors. */

import * as rearrangeKernels from '../../device/cpu/movement/rearrange.ts';
import { named } from '../../device/kernel-op.ts';
import { formatSpec, type TensorMeta } from '../../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { promote } from '../../spec/dtype.ts';
import { normalizeDim, type Shape, sameShape } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { bind1 } from '../core/bind.ts';
import { casting } from '../core/cast.ts';
import { defineOp, type Fits, saving } from '../record/define-op.ts';
import { expectTensorList } from '../record/expect-tensors.ts';
import { narrow, reshape, unsqueeze } from './movement.ts';

/** Requires that the parts differ only in the joined dimension and have the declared sizes. */
const fitsTogether: Fits = (tensors, { dim, sizes }) => {
  const lengths = sizes as readonly number[];
  const [first] = tensors;
  const areAlike =
    lengths.length === tensors.length &&
    tensors.every(({ shape }, i) =>
      sameShape(shape, withSize(first!.shape, dim as number, lengths[i]!)),
    );
  return areAlike || 'parts of these sizes, alike in all other dimensions';
};

export const catOp = defineOp({
  name: 'cat',
  operands: { tensors: 'data' },
  attrs: { dim: 'dim', sizes: 'sizes' },
  fits: fitsTogether,
  variadic: true,
  infer: (tensors, { dim, sizes }) => {
    const size = (sizes as readonly number[]).reduce((a, b) => a + b, 0);
    const { dtype, shape } = tensors[0]!;
    return { dtype, shape: withSize(shape, dim as number, size) };
  },
  kernel: named('cat', rearrangeKernels.cat),
  layout: 'any',
  vjp: {
    tensors: saving({}, (_saved, dy, { dim, sizes }, index) => {
      const all = sizes as readonly number[];
      const start = all.slice(0, index).reduce((a, b) => a + b, 0);
      return narrow(dy, dim as number, start, all[index]!);
    }),
  },
});

function withSize(shape: Shape, dim: number, size: number): Shape {
  return shape.map((each, d) => (d === dim ? size : each));
}

function expectSome(op: string, tensors: readonly Tensor[]): void {
  if (Array.isArray(tensors) && tensors.length > 0) return;
  throw new ArgumentError({
    what: `${op}: no tensors`,
    given: Array.isArray(tensors) ? 'an empty array' : typeof tensors,
    expected: 'an array of at least one tensor',
    remedy: `pass them in one array: ${op}([a, b])`,
  });
}

function mismatch(op: string, tensors: readonly TensorMeta[], expected: string): ShapeError {
  return new ShapeError({
    what: `${op}: the shapes don't fit together`,
    given: tensors.map(formatSpec).join(', '),
    expected,
    remedy: 'check the dimension, or reshape the tensors first',
  });
}

/** Concatenates tensors along an existing dimension; all other sizes are equal. */
export function cat(tensors: readonly Tensor[], dim = 0): Tensor {
  expectTensorList('cat', tensors);
  expectSome('cat', tensors);
  // Tensors of shape [0] are ignored, whatever the shape of the others, as in PyTorch.
  const joined = tensors.filter((x) => !sameShape(x.shape, [0]));
  const parts = joined.length > 0 ? joined : tensors;
  const { rank, shape } = parts[0]!;
  if (rank === 0)
    throw mismatch('cat', parts, 'tensors with at least one dimension; stack() adds one');
  const at = normalizeDim(dim, rank, 'cat');
  if (parts.some((x) => x.rank !== rank || !sameShape(withSize(x.shape, at, shape[at]!), shape))) {
    throw mismatch('cat', parts, `equal sizes in all dimensions but ${at}`);
  }
  const sizes = parts.map((x) => x.shape[at]!);
  return casting(parts, parts.map((x) => x.dtype).reduce(promote), (operands) =>
    bind1(catOp, operands, { dim: at, sizes }),
  );
}

/** Stacks tensors of one shape along a new dimension. */
export function stack(tensors: readonly Tensor[], dim = 0): Tensor {
  expectTensorList('stack', tensors);
  expectSome('stack', tensors);
  const { rank, shape } = tensors[0]!;
  const at = normalizeDim(dim, rank + 1, 'stack');
  if (tensors.some((x) => !sameShape(x.shape, shape))) {
    throw mismatch('stack', tensors, 'tensors of one shape');
  }
  return tidy(() =>
    cat(
      tensors.map((x) => unsqueeze(x, at)),
      at,
    ),
  );
}

const withRank = (x: Tensor, shape: (from: Shape) => Shape): Tensor => reshape(x, shape(x.shape));

/** Concatenates horizontally: along dimension 1, or 0 for vectors. */
export function hstack(tensors: readonly Tensor[]): Tensor {
  return naming('hstack', () => {
    expectTensorList('hstack', tensors);
    expectSome('hstack', tensors);
    return tidy(() => {
      const parts = tensors.map((x) => (x.rank === 0 ? withRank(x, () => [1]) : x));
      return cat(parts, parts[0]!.rank === 1 ? 0 : 1);
    });
  });
}

/** Concatenates vertically: vectors become rows. */
export function vstack(tensors: readonly Tensor[]): Tensor {
  return naming('vstack', () => {
    expectTensorList('vstack', tensors);
    expectSome('vstack', tensors);
    return tidy(() => {
      const row = (shape: Shape): Shape => [1, shape[0] ?? 1];
      return cat(tensors.map((x) => (x.rank < 2 ? withRank(x, row) : x)));
    });
  });
}

/** Concatenates in depth, along dimension 2. */
export function dstack(tensors: readonly Tensor[]): Tensor {
  return naming('dstack', () => {
    expectTensorList('dstack', tensors);
    expectSome('dstack', tensors);
    return tidy(() => {
      const deep = (shape: Shape): Shape =>
        shape.length < 2 ? [1, shape[0] ?? 1, 1] : [shape[0]!, shape[1]!, 1];
      return cat(
        tensors.map((x) => (x.rank < 3 ? withRank(x, deep) : x)),
        2,
      );
    });
  });
}

/** Concatenates columns: vectors and scalars become columns. */
export function columnStack(tensors: readonly Tensor[]): Tensor {
  return naming('columnStack', () => {
    expectTensorList('columnStack', tensors);
    expectSome('columnStack', tensors);
    return tidy(() => {
      const column = (shape: Shape): Shape => [shape[0] ?? 1, 1];
      return cat(
        tensors.map((x) => (x.rank < 2 ? withRank(x, column) : x)),
        1,
      );
    });
  });
}
