/** Products, and partial sums and products along a dimension. */

import * as reductionsKernels from '../../device/cpu/reduce.ts';
import * as scansKernels from '../../device/cpu/scalar/scan.ts';
import { named } from '../../device/kernel-op.ts';
import { dtypes } from '../../spec/dtype.ts';
import { normalizeDim } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { mul } from '../arithmetic/arithmetic.ts';
import { bind1 } from '../core/bind.ts';
import { casting, type DTypeOption, withDType } from '../core/cast.ts';
import { inferSame } from '../core/promotion.ts';
import { narrowGradOp, reshape, unsqueeze } from '../movement/movement.ts';
import { defineOp, type OpRecord, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { expectFlag } from '../record/positional.ts';
import { rowsBeforeDims } from '../record/row-cuts.ts';
import { partialProductsCurvature, partialProductsSlope } from './product-derivatives.ts';
import { inferReduced } from './reduce.ts';

export const cumsumOp: OpRecord = defineOp({
  name: 'cumsum',
  operands: { x: 'data' },
  attrs: { dim: 'dim', reverse: { optional: 'boolean' } },
  dtypes: { x: 'number' },
  infer: inferSame,
  kernel: named('cumsum', scansKernels.cumsum),
  rows: rowsBeforeDims,
  vjp: {
    x: saving({}, (_saved, dy, { dim, reverse }) =>
      partialSums(dy, dim as number, !(reverse as boolean)),
    ),
  },
});

function partialSums(x: Tensor, dim: number, reverse: boolean): Tensor {
  return bind1(cumsumOp, [x], { dim, reverse });
}

/** Partial sums from the end of a dimension; not for scalars. */
export const cumsumFromEnd = (x: Tensor, dim: number): Tensor => partialSums(x, dim, true);

export const cumprodOp: OpRecord = defineOp({
  name: 'cumprod',
  operands: { x: 'data' },
  attrs: { dim: 'dim' },
  dtypes: { x: 'number' },
  infer: inferSame,
  kernel: named('cumprod', scansKernels.cumprod),
  rows: rowsBeforeDims,
  vjp: { x: saving({ x: 'value' }, ({ x }, dy, attrs) => bind1(cumprodGradOp, [dy, x], attrs)) },
});

export const cumprodGradOp: OpRecord = defineOp({
  name: 'cumprodGrad',
  operands: { dy: 'data', x: 'data' },
  attrs: { dim: 'dim' },
  dtypes: { dy: 'floating' },
  infer: inferSame,
  kernel: named('cumprodGrad', scansKernels.cumprodGrad),
  rows: rowsBeforeDims,
  vjp: {
    dy: saving({ x: 'value' }, ({ x }, g, { dim }) => partialProductsSlope(x, g, dim as number)),
    x: saving({ dy: 'value', x: 'value' }, ({ dy, x }, g, { dim }) =>
      partialProductsCurvature(dy, x, g, dim as number),
    ),
  },
});

/** Runs a scan. A scalar counts as one entry; int32 and bool are summed and multiplied as int32. */
function scan(op: OpRecord, x: Tensor, dim: number, attrs: { readonly reverse?: boolean }): Tensor {
  const at = normalizeDim(dim, x.rank, op.name);
  const dtype = dtypes[x.dtype].floating ? x.dtype : 'int32';
  return casting([x], dtype, ([own]) => {
    if (x.rank > 0) return bind1(op, [own!], { dim: at, ...attrs });
    return tidy(() => reshape(bind1(op, [reshape(own!, [1])], { dim: 0, ...attrs }), []));
  });
}

/** Partial sums along `dim`. */
export const cumsum = (x: Tensor, dim: number, options: DTypeOption = {}): Tensor => {
  expectTensors('cumsum', x);
  return withDType('cumsum', x, options, (converted) =>
    scan(cumsumOp, converted, dim, { reverse: false }),
  );
};
/** Partial products along `dim`. */
export const cumprod = (x: Tensor, dim: number, options: DTypeOption = {}): Tensor => {
  expectTensors('cumprod', x);
  return withDType('cumprod', x, options, (converted) => scan(cumprodOp, converted, dim, {}));
};

export const prodOp = defineOp({
  name: 'prod',
  operands: { x: 'data' },
  attrs: { dims: 'dims', keepDim: 'boolean' },
  dtypes: { x: 'number' },
  infer: inferReduced,
  kernel: named('prod', reductionsKernels.prod),
  layout: 'any',
  rows: rowsBeforeDims,
  vjp: {
    // The product is the last of the partial products.
    x: saving({ x: 'value' }, ({ x }, dy, { dims, keepDim }) => {
      const [dim] = dims as readonly [number];
      const size = x.shape[dim]!;
      if (size === 0) return mul(x, 0);
      const kept = keepDim ? dy : unsqueeze(dy, dim);
      const last = bind1(narrowGradOp, [kept, x], { dim, start: size - 1 });
      return bind1(cumprodGradOp, [last, x], { dim });
    }),
  },
});

/** The product of all elements, or along `dim`. int32 and bool are multiplied as int32. */
export function prod(
  x: Tensor,
  dim: number | null = null,
  keepDim = false,
  options: DTypeOption = {},
): Tensor {
  expectTensors('prod', x);
  expectFlag('prod', 'keepDim', keepDim);
  return withDType('prod', x, options, (converted) => product(converted, dim, keepDim));
}

function product(x: Tensor, dim: number | null, keepDim: boolean): Tensor {
  const at = dim === null ? 0 : normalizeDim(dim, x.rank, 'prod');
  const flat = dim === null || x.rank === 0;
  return casting([x], dtypes[x.dtype].floating ? x.dtype : 'int32', ([own]) =>
    tidy(() => {
      const rows = flat ? reshape(own!, [x.numel()]) : own!;
      return bind1(prodOp, [rows], { dims: [at], keepDim: flat ? false : keepDim });
    }),
  );
}
