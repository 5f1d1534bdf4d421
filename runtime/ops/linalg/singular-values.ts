/** Singular values, and the op that computes them with their vectors. */

import * as singularValuesKernels from '../../device/cpu/scalar/singular-values.ts';
import { named } from '../../device/kernel-op.ts';
import { naming } from '../../errors/naming.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, mul, sub } from '../arithmetic/arithmetic.ts';
import { bindFloat } from '../core/promotion.ts';
import { narrow, select, transpose, unsqueeze } from '../movement/movement.ts';
import { diagEmbed } from '../movement/place.ts';
import { matmul } from '../products/matmul.ts';
import { defineOp, expectTensor, saving } from '../record/define-op.ts';
import { quotient } from './quotient.ts';
import { expectMatrices } from './square-matrices.ts';

const mT = (x: Tensor): Tensor => transpose(x, -1, -2);

interface Parts {
  readonly u: Tensor;
  readonly v: Tensor;
  readonly s: Tensor;
}

/** Splits the kernel's result for m×n matrices, or a gradient of it. */
export function unpacked(packed: Tensor, m: number, n: number): Parts {
  return { u: narrow(packed, -2, 0, m), v: narrow(packed, -2, m, n), s: select(packed, -2, m + n) };
}

/** x − xᵀ */
const skew = (x: Tensor): Tensor => sub(x, mT(x));

/** The part of a change of orthonormal columns that is orthogonal to the space they span. */
const outside = (q: Tensor, change: Tensor): Tensor =>
  sub(change, matmul(q, matmul(mT(q), change)));

/** One result contains all parts, because only the first result of an op has a gradient. */
export const singularVectorsOp = defineOp({
  name: 'singularVectors',
  operands: { x: 'data' },
  dtypes: { x: 'floating' },
  infer: ([x]) => {
    expectMatrices('svd', x!);
    const [m, n] = x!.shape.slice(-2) as [number, number];
    return { dtype: x!.dtype, shape: [...x!.shape.slice(0, -2), m + n + 1, Math.min(m, n)] };
  },
  kernel: named('singularVectors', singularValuesKernels.singularVectors),
  vjp: {
    // U · (skew(Uᵀ·dU)/E · S + S · skew(Vᵀ·dV)/E + diag(dS)) · Vᵀ with E = sⱼ² − sᵢ², plus the parts outside the spaces
    // of U and V.
    x: saving({ out: 'value', x: 'shape' }, ({ out, x }, dy) => {
      const [m, n] = x.shape.slice(-2) as [number, number];
      const { u, v, s } = unpacked(out, m, n);
      const change = unpacked(dy, m, n);
      const [rows, columns] = [unsqueeze(s, -1), unsqueeze(s, -2)];
      const distances = mul(sub(columns, rows), add(columns, rows));
      const ofU = mul(quotient(skew(matmul(mT(u), change.u)), distances), columns);
      const ofV = mul(quotient(skew(matmul(mT(v), change.v)), distances), rows);
      const within = matmul(u, matmul(add(add(ofU, ofV), diagEmbed(change.s)), mT(v)));
      const above = m > n ? matmul(quotient(outside(u, change.u), columns), mT(v)) : null;
      const beside = n > m ? matmul(u, mT(quotient(outside(v, change.v), columns))) : null;
      const left = above ?? beside;
      return left ? add(within, left) : within;
    }),
  },
});

/** The singular values of matrices [.., m, n] in descending order: [.., the smaller of m and n]. */
export function svdvals(x: Tensor): Tensor {
  return naming('svdvals', () => {
    expectTensor(singularVectorsOp, x);
    expectMatrices('svdvals', x);
    const [m, n] = x.shape.slice(-2) as [number, number];
    return tidy(() => unpacked(bindFloat(singularVectorsOp, x), m, n).s);
  });
}
