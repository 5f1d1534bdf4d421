/** Maxima and minima, and their positions. NaN counts as both, as in PyTorch. */

import * as reductionsKernels from '../../device/cpu/reduce.ts';
import * as placesKernels from '../../device/cpu/scalar/reduce.ts';
import { type Attrs, type NamedKernel, named } from '../../device/kernel-op.ts';
import type { TensorMeta } from '../../device/tensor-meta.ts';
import { normalizeDim } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import { Tensor } from '../../tensor/tensor.ts';
import { maximum, minimum, mul } from '../arithmetic/arithmetic.ts';
import { div } from '../arithmetic/division.ts';
import { isnan, logicalOr } from '../arithmetic/logic.ts';
import { bind1 } from '../core/bind.ts';
import { cast } from '../core/cast.ts';
import { gather } from '../indexing/gather.ts';
import { clone, reshape, squeeze, unsqueeze } from '../movement/movement.ts';
import { eq } from '../pointwise/comparison.ts';
import { defineOp, type OpRecord, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { expectFlag } from '../record/positional.ts';
import { rowsBeforeDims } from '../record/row-cuts.ts';
import {
  type DimOptions,
  type Dims,
  expectEntries,
  hasKeywords,
  inferReduced,
  positional,
  type ReduceOptions,
  reduceAttrs,
  reducedShape,
  sum,
  unreduce,
} from './reduce.ts';

/** Defines the op. Attr `ofAll`: elements that are NaN share the gradient of a NaN. */
function extreme(kernel: NamedKernel<'max' | 'min'>): OpRecord {
  const { name } = kernel;
  return defineOp({
    name,
    operands: { x: 'data' },
    attrs: { dims: 'dims', keepDim: 'boolean', ofAll: { optional: 'boolean' } },
    infer: ([x], attrs) => {
      expectEntries(name, x!, attrs.dims as readonly number[]);
      return inferReduced([x!], attrs);
    },
    kernel,
    layout: 'any',
    rows: rowsBeforeDims,
    vjp: {
      // Split evenly among equal elements; with attr `ofAll`, also among NaN elements.
      x: saving({ x: 'value', out: 'value' }, ({ x, out }, dy, attrs) => {
        const equal = eq(x, unreduce(out, x, attrs));
        const chosen = cast(attrs.ofAll ? logicalOr(equal, isnan(x)) : equal, x.dtype);
        const count = sum(chosen, attrs.dims as readonly number[], {
          keepDim: attrs.keepDim as boolean,
        });
        return mul(unreduce(div(dy, count), x, attrs), chosen);
      }),
    },
  });
}

// Not the scalar itself: writes to the result must not change the operand.
const bound = (op: OpRecord, x: Tensor, attrs: Attrs | null): Tensor =>
  attrs ? bind1(op, [x], attrs) : clone(x);

function over(op: OpRecord) {
  return function reduced(
    x: Tensor,
    dims?: Dims | DimOptions,
    options: ReduceOptions | boolean = {},
  ): Tensor {
    if (typeof options === 'boolean' || hasKeywords(dims, options))
      return reduced(x, ...positional(`a${op.name}`, dims, options));
    return bound(op, x, reduceAttrs(x, dims, options, op.name));
  };
}

const maxOp = extreme(named('max', reductionsKernels.max));
const minOp = extreme(named('min', reductionsKernels.min));

/** The maximum over all dimensions or `dims`; equal elements share the gradient. */
export const amax = over(maxOp);
/** The minimum over all dimensions or `dims`; equal elements share the gradient. */
export const amin = over(minOp);

function inferIndex(name: string) {
  return ([x]: readonly TensorMeta[], { dim }: Attrs) => {
    expectEntries(name, x!, [dim as number]);
    return { dtype: 'int32' as const, shape: reducedShape(x!.shape, [dim as number], false) };
  };
}

function place(kernel: NamedKernel<'argmax' | 'argmin'>) {
  const { name } = kernel;
  const op = defineOp({
    name,
    operands: { x: 'data' },
    attrs: { dim: 'dim' },
    infer: inferIndex(name),
    kernel,
    rows: rowsBeforeDims,
  });
  return (x: Tensor, dim: number | null = null, keepDim = false): Tensor =>
    tidy(() => {
      expectTensors(name, x);
      expectFlag(name, 'keepDim', keepDim);
      // A scalar counts as one entry.
      const at = dim === null ? 0 : normalizeDim(dim, x.rank, name);
      const flat = dim === null || x.rank === 0;
      const found = bind1(op, [flat ? reshape(x, [x.numel()]) : x], { dim: at });
      if (!keepDim) return found;
      return flat
        ? reshape(
            found,
            x.shape.map(() => 1),
          )
        : unsqueeze(found, at);
    });
}

/** int32 index of the first maximum, in row-major order or along `dim`. */
export const argmax = place(named('argmax', placesKernels.argmax));
/** int32 index of the first minimum, in row-major order or along `dim`. */
export const argmin = place(named('argmin', placesKernels.argmin));

type Chosen = [values: Tensor, indices: Tensor];

/** Defines values and indices along one dimension; the gradient flows to the indexed elements. */
function alongDim(name: 'max' | 'min', where: typeof argmax) {
  return (x: Tensor, dim: number, keepDim: boolean): Chosen => {
    expectTensors(name, x);
    const at = normalizeDim(dim, x.rank, name);
    expectFlag(name, 'keepDim', keepDim);
    if (x.rank === 0) return [tidy(() => amax(x)), where(x)];
    const indices = where(x, at, true);
    const values = gather(x, at, indices);
    if (keepDim) return [values, indices];
    return [squeeze(values, at), squeeze(indices, at)];
  };
}

interface Extreme {
  /** Reduces over all dimensions. */
  (x: Tensor): Tensor;
  /** Compares elementwise. */
  (x: Tensor, other: Tensor): Tensor;
  /** Returns values and int32 indices along one dimension. */
  (x: Tensor, dim: number, keepDim?: boolean): Chosen;
}

function extremeOf(
  name: 'max' | 'min',
  op: OpRecord,
  ofPairs: typeof maximum,
  places: typeof argmax,
): Extreme {
  const along = alongDim(name, places);
  return ((x: Tensor, other?: Tensor | number, keepDim?: boolean) => {
    if (other === undefined) {
      const attrs = reduceAttrs(x, null, {}, name);
      return bound(op, x, attrs && { ...attrs, ofAll: true });
    }
    return other instanceof Tensor ? ofPairs(x, other) : along(x, other, keepDim ?? false);
  }) as Extreme;
}

/** The maximum of a whole tensor, of two tensors elementwise, or `[values, indices]` along a dimension. */
export const max: Extreme = extremeOf('max', maxOp, maximum, argmax);
/** The minimum of a whole tensor, of two tensors elementwise, or `[values, indices]` along a dimension. */
export const min: Extreme = extremeOf('min', minOp, minimum, argmin);
