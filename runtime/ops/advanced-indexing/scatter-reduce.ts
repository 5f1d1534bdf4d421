/** Combines values by index: sums, products, means and extremes. */

import * as indexingKernels from '../../device/cpu/movement/indexing.ts';
import { type Attrs, named } from '../../device/kernel-op.ts';
import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError, DTypeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { flag } from '../../options/option-kinds.ts';
import { dtypes } from '../../spec/dtype.ts';
import { normalizeDim } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { mul } from '../arithmetic/arithmetic.ts';
import { div, floorDivide } from '../arithmetic/division.ts';
import { logicalAnd } from '../arithmetic/logic.ts';
import { bind1 } from '../core/bind.ts';
import { expand } from '../core/broadcast.ts';
import { cast, casting, counting } from '../core/cast.ts';
import { expectWithin, gather, partOf, scatter, scatterAdd } from '../indexing/gather.ts';
import { expectIndices, indices, mismatch } from '../indexing/index-operands.ts';
import { atleast1d } from '../movement/at-least.ts';
import { reshape } from '../movement/movement.ts';
import { fullLike } from '../movement/ranges.ts';
import { eq, maskedFill, where } from '../pointwise/comparison.ts';
import { defineOp, type OpRecord, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';

export type ScatterReduction = 'sum' | 'prod' | 'mean' | 'amax' | 'amin';

export interface ScatterOptions {
  /** Whether the tensor's own values are included. True by default. */
  readonly includeSelf?: boolean;
}

export const scatterReduceOp: OpRecord = defineOp({
  name: 'scatterReduce',
  operands: { x: 'data', index: 'data', source: 'data' },
  attrs: { dim: 'dim', reduce: { oneOf: ['prod', 'max', 'min'] }, includeSelf: 'boolean' },
  dtypes: { x: 'number', index: 'int32' },
  infer: ([x]) => ({ dtype: x!.dtype, shape: x!.shape }),
  kernel: named('scatterReduce', indexingKernels.scatterReduce),
  mayRefuse: true,
  layout: 'any',
  vjp: {
    x: saving(
      { x: 'value', index: 'value', source: 'value', out: 'value' },
      ({ x, index, source, out }, dy, attrs) => {
        const own =
          attrs.reduce === 'prod'
            ? productGradient(x, index, source, dy, attrs)
            : mul(share(x, index, source, out, dy, attrs), cast(eq(x, out), dy.dtype));
        return attrs.includeSelf ? own : scatter(own, attrs.dim as number, index, 0);
      },
    ),
    source: saving(
      { x: 'value', index: 'value', source: 'value', out: 'value' },
      ({ x, index, source, out }, dy, attrs) => {
        const dim = attrs.dim as number;
        if (attrs.reduce === 'prod') return sourceGradient(x, index, source, out, dy, attrs);
        const chosen = cast(eq(source, gather(out, dim, index)), dy.dtype);
        return mul(chosen, gather(share(x, index, source, out, dy, attrs), dim, index));
      },
    ),
  },
});

/** Divides dy by the number of values that equal the extreme, including the tensor's own if it counts. */
function share(
  x: Tensor,
  index: Tensor,
  source: Tensor,
  out: Tensor,
  dy: Tensor,
  { dim, includeSelf }: Attrs,
): Tensor {
  const at = dim as number;
  const chosen = cast(eq(source, gather(out, at, index)), dy.dtype);
  const equal = cast(eq(x, out), dy.dtype);
  const own = includeSelf ? equal : scatter(equal, at, index, 0);
  return div(dy, scatterAdd(own, at, index, chosen));
}

/** Returns the product of the other values: by division, or recomputed where x itself is 0. */
function productGradient(x: Tensor, index: Tensor, source: Tensor, dy: Tensor, attrs: Attrs) {
  const nonzero = maskedFill(x, eq(x, 0), 1);
  return div(mul(dy, bind1(scatterReduceOp, [nonzero, index, source], attrs)), nonzero);
}

function sourceGradient(
  x: Tensor,
  index: Tensor,
  source: Tensor,
  out: Tensor,
  dy: Tensor,
  attrs: Attrs,
): Tensor {
  const dim = attrs.dim as number;
  const zero = eq(source, 0);
  const none = fullLike(x, 0);
  const zeros = gather(scatterAdd(none, dim, index, cast(zero, x.dtype)), dim, index);
  const single = logicalAnd(zero, eq(zeros, 1));
  // If this is the only zero at its position, the product of the others is recomputed.
  const others = bind1(scatterReduceOp, [x, index, maskedFill(source, single, 1)], attrs);
  const byDivision = div(gather(mul(dy, out), dim, index), maskedFill(source, zero, 1));
  return where(single, gather(mul(dy, others), dim, index), byDivision);
}

type Combining = (x: Tensor, index: Tensor, source: Tensor, dim: number, self: boolean) => Tensor;

const kernelFor =
  (reduce: 'prod' | 'max' | 'min'): Combining =>
  (x, index, source, dim, includeSelf) =>
    bind1(scatterReduceOp, [x, index, source], { dim, reduce, includeSelf });

/** Positions that receive values start from 0 if their own value is excluded. */
const total: Combining = (x, index, source, dim, includeSelf) =>
  scatterAdd(includeSelf ? x : scatter(x, dim, index, 0), dim, index, source);

const average: Combining = (x, index, source, dim, includeSelf) => {
  const counted = scatterAdd(
    fullLike(x, includeSelf ? 1 : 0),
    dim,
    index,
    fullLike(source, 1, { dtype: x.dtype }),
  );
  const count = maskedFill(counted, eq(counted, 0), 1);
  const sums = total(x, index, source, dim, includeSelf);
  return dtypes[x.dtype].floating ? div(sums, count) : floorDivide(sums, count);
};

const combinings: { readonly [R in ScatterReduction]: Combining } = {
  sum: total,
  mean: average,
  prod: kernelFor('prod'),
  amax: kernelFor('max'),
  amin: kernelFor('min'),
};

/**
 * Returns a copy of `x` in which the elements that `index` selects along `dim` are combined with those of `source`: the
 * inverse of gather, for any reduction.
 */
export function scatterReduce(
  x: Tensor,
  dim: number,
  index: Tensor,
  source: Tensor,
  reduce: ScatterReduction,
  options: ScatterOptions = {},
): Tensor {
  expectTensors('scatterReduce', x, index, source);
  expectOptions('scatterReduce', options, { includeSelf: flag });
  const { includeSelf = true } = options;
  const at = normalizeDim(dim, x.rank, 'scatterReduce');
  const combine = combinings[reduce];
  if (combine === undefined) {
    throw new ArgumentError({
      what: 'scatterReduce: no such reduction',
      given: String(reduce),
      expected: Object.keys(combinings).join(', '),
      remedy: "use 'amax' for the largest",
    });
  }
  expectIndices('scatterReduce', index);
  if (reduce === 'mean' && x.dtype === 'bool') {
    throw new DTypeError({
      what: 'scatterReduce: booleans have no mean',
      given: formatSpec(x),
      expected: 'numbers',
      remedy: "cast the tensor, x.to('float32'), or use 'amax' for whether any is true",
    });
  }
  const combined = () => {
    const [target, places] = [atleast1d(x), atleast1d(indices(index))];
    expectWithin('scatterReduce', target, places, at);
    const part = partOf('scatterReduce', atleast1d(source), places);
    return counting(target, (converted) =>
      casting([part], converted.dtype, ([values]) => {
        const out = combine(converted, places, values!, at, includeSelf);
        return x.rank === 0 ? reshape(out, []) : out;
      }),
    );
  };
  return tidy(() => naming('scatterReduce', combined));
}

/** Like `scatterReduce`, with entire entries of `source`, one for each element of `index` [k]. */
export function indexReduce(
  x: Tensor,
  dim: number,
  index: Tensor,
  source: Tensor,
  reduce: Exclude<ScatterReduction, 'sum'>,
  options: ScatterOptions = {},
): Tensor {
  return naming('indexReduce', () => {
    expectTensors('indexReduce', x, index, source);
    const at = normalizeDim(dim, x.rank, 'indexReduce');
    expectIndices('indexReduce', index);
    if (index.rank > 1) throw mismatch('indexReduce', [index], 'indices in one dimension');
    return tidy(() => {
      const [target, values] = [atleast1d(x), atleast1d(source)];
      const along = target.shape.map((_, d) => (d === at ? index.numel() : 1));
      const shape = target.shape.map((size, d) => (d === at ? index.numel() : size));
      const places = expand(reshape(index, along), shape);
      const out = scatterReduce(target, at, places, values, reduce, options);
      return x.rank === 0 ? reshape(out, []) : out;
    });
  });
}
