/** In-place forms that overwrite the first operand with a result of the same size. */

import { formatSpec } from '../../device/tensor-meta.ts';
import { ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { indexFill } from '../arranging/index-fill.ts';
import type { Operand } from '../core/promotion.ts';
import { scatter, scatterAdd } from '../indexing/gather.ts';
import { indexAdd, indexCopy } from '../indexing/indexing.ts';
import { narrow } from '../movement/movement.ts';
import { diagonal } from '../movement/views.ts';
import { maskedFill } from '../pointwise/comparison.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { expectFlag, type Keyword } from '../record/positional.ts';
import { fill_ } from './filled.ts';
import { copy_ } from './in-place.ts';

/** Overwrites `x` with the out-of-place result. */
function over(name: string, x: Tensor, result: () => Tensor): Tensor {
  naming(name, () =>
    tidy(() => {
      copy_(x, result());
    }),
  );
  return x;
}

/**
 * Fills the main diagonal of a matrix, or the elements [i, i, .., i] of a tensor with equal sizes. With `wrap`, the
 * diagonal of a tall matrix begins again one row below its end. Throws ShapeError for other shapes.
 */
export function fillDiagonal_(x: Tensor, value: number, wrap = false): Tensor {
  expectTensors('fillDiagonal_', x);
  expectFlag('fillDiagonal_', 'wrap', wrap);
  const [m = 0, n = 0] = x.shape;
  if (x.rank < 2 || (x.rank > 2 && x.shape.some((size) => size !== m))) {
    throw new ShapeError({
      what: 'fillDiagonal_: no main diagonal',
      given: formatSpec(x),
      expected: 'a matrix, or more dimensions of equal sizes',
      remedy: 'write to a view: diagonal(x, offset, dim1, dim2).fill_(value)',
    });
  }
  tidy(() => {
    let view = x;
    while (view.rank > 1) view = diagonal(view);
    fill_(view, value);
    if (!wrap || x.rank > 2 || n === 0) return;
    for (let row = n + 1; row < m; row += n + 1) {
      fill_(diagonal(narrow(x, 0, row, Math.min(n, m - row))), value);
    }
  });
  return x;
}

export function scatter_(
  x: Tensor,
  dim: number,
  index: Tensor,
  source: Tensor | number | boolean,
): Tensor {
  return over('scatter_', x, () => scatter(x, dim, index, source));
}

export function scatterAdd_(x: Tensor, dim: number, index: Tensor, source: Tensor): Tensor {
  return over('scatterAdd_', x, () => scatterAdd(x, dim, index, source));
}

export function indexAdd_(
  x: Tensor,
  dim: number,
  index: Tensor,
  source: Tensor,
  alpha: Keyword<'alpha'> = 1,
): Tensor {
  return over('indexAdd_', x, () => indexAdd(x, dim, index, source, alpha));
}

export function indexCopy_(x: Tensor, dim: number, index: Tensor, source: Tensor): Tensor {
  return over('indexCopy_', x, () => indexCopy(x, dim, index, source));
}

export function indexFill_(x: Tensor, dim: number, index: Tensor, value: Operand): Tensor {
  return over('indexFill_', x, () => indexFill(x, dim, index, value));
}

export function maskedFill_(x: Tensor, mask: Tensor, value: Operand | boolean): Tensor {
  return over('maskedFill_', x, () => maskedFill(x, mask, value));
}
