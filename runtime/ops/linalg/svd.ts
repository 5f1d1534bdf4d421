/** The singular value decomposition. */

import { naming } from '../../errors/naming.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { flag } from '../../options/option-kinds.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { bind1 } from '../core/bind.ts';
import { bindFloat } from '../core/promotion.ts';
import { cat } from '../movement/joining.ts';
import { narrow, transpose } from '../movement/movement.ts';
import { expectTensor } from '../record/define-op.ts';
import { orthogonalFactorsOp } from './orthogonal-factors.ts';
import { singularVectorsOp, unpacked } from './singular-values.ts';
import { expectMatrices } from './square-matrices.ts';

const mT = (x: Tensor): Tensor => transpose(x, -1, -2);

export interface SvdOptions {
  /** Square U and V, true by default: columns beyond the singular values have no gradient. */
  readonly fullMatrices?: boolean;
}

/** Completes orthonormal columns to a square matrix. */
function square(columns: Tensor): Tensor {
  const [m, k] = columns.shape.slice(-2) as [number, number];
  if (m === k) return columns;
  const all = bind1(orthogonalFactorsOp, [columns.detach()], { complete: true });
  return cat([columns, narrow(narrow(all, -2, 0, m), -1, k, m - k)], -1);
}

/**
 * `[U, S, Vᵀ]` of matrices [.., m, n]: U [.., m, m], the singular values S [.., k] in descending order, k the smaller
 * of m and n, and Vᵀ [.., n, n]; without `fullMatrices` U [.., m, k] and Vᵀ [.., k, n]. Computed in float64; integers
 * become float32. Signs are arbitrary. Vectors of equal singular values have no gradient: if needed, it is NaN or
 * infinite.
 */
export function svd(x: Tensor, options: SvdOptions = {}): [u: Tensor, s: Tensor, vh: Tensor] {
  return naming('svd', () => {
    expectTensor(singularVectorsOp, x);
    expectOptions('svd', options, { fullMatrices: flag });
    expectMatrices('svd', x);
    const [m, n] = x.shape.slice(-2) as [number, number];
    return tidy(() => {
      const { u, v, s } = unpacked(bindFloat(singularVectorsOp, x), m, n);
      if (options.fullMatrices === false) return [u, s, mT(v)];
      return [square(u), s, mT(square(v))];
    });
  });
}
