/** The factorization of matrices into an orthogonal and a triangular factor. */

import * as orthogonalKernels from '../../device/cpu/scalar/orthogonal.ts';
import { named } from '../../device/kernel-op.ts';
import type { TensorMeta } from '../../device/tensor-meta.ts';
import { ArgumentError, AutogradError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { shown } from '../../options/expect-options.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, sub } from '../arithmetic/arithmetic.ts';
import { triu } from '../arranging/triangles.ts';
import { bind1 } from '../core/bind.ts';
import { cast } from '../core/cast.ts';
import { floating } from '../core/promotion.ts';
import { cat } from '../movement/joining.ts';
import { narrow, transpose } from '../movement/movement.ts';
import { diagEmbed } from '../movement/place.ts';
import { diagonal } from '../movement/views.ts';
import { matmul } from '../products/matmul.ts';
import { defineOp, expectTensor, saving } from '../record/define-op.ts';
import { solveTriangular } from './linear-systems.ts';
import { expectMatrices } from './square-matrices.ts';

const mT = (x: Tensor): Tensor => transpose(x, -1, -2);

const inferFactors = ([x]: readonly TensorMeta[], complete: boolean) => {
  expectMatrices('qr', x!);
  const [m, n] = x!.shape.slice(-2) as [number, number];
  const k = complete ? m : Math.min(m, n);
  return { dtype: x!.dtype, shape: [...x!.shape.slice(0, -2), m + n, k] };
};

/** Splits Q and Rᵀ, or their gradients, for matrices with m rows. */
function parts(packed: Tensor, m: number): { q: Tensor; r: Tensor } {
  const rows = packed.shape.at(-2)!;
  return { q: narrow(packed, -2, 0, m), r: mT(narrow(packed, -2, m, rows - m)) };
}

/** Mirrors an upper triangle. */
const mirrored = (x: Tensor): Tensor => sub(add(x, mT(x)), diagEmbed(diagonal(x, 0, -2, -1)));

/** One result contains both factors, because only the first result of an op has a gradient. */
export const orthogonalFactorsOp = defineOp({
  name: 'orthogonalFactors',
  operands: { x: 'data' },
  attrs: { complete: 'boolean' },
  infer: (inputs, { complete }) => inferFactors(inputs, complete as boolean),
  kernel: named('orthogonalFactors', orthogonalKernels.orthogonalFactors),
  vjp: {
    // (dQ + Q · mirrored(triu(dR·Rᵀ − Qᵀ·dQ))) · R⁻ᵀ, for m ≥ n (Walter, Lehmann, 2010).
    x: saving({ out: 'value', x: 'shape' }, ({ out, x }, dy, { complete }) => {
      const [m, n] = x.shape.slice(-2) as [number, number];
      if (m < n || (complete && m > n)) refuseGradient(m, n);
      const { q, r } = parts(out, m);
      const change = parts(dy, m);
      const inner = sub(matmul(change.r, mT(r)), matmul(mT(q), change.q));
      const both = add(change.q, matmul(q, mirrored(triu(inner))));
      return solveTriangular(mT(r), both, { left: false, upper: false });
    }),
  },
});

function refuseGradient(m: number, n: number): never {
  throw new AutogradError({
    what: 'qr: a complete factor has no gradient',
    given: `matrices ${m}×${n} with mode 'complete'`,
    expected: 'no more rows than columns, or the reduced factors',
    remedy: "leave mode out, or pass 'reduced'",
  });
}

const modes = ['reduced', 'complete', 'r'] as const;

/**
 * `[Q, R]` with Q·R = x for matrices [.., m, n]: orthonormal columns Q [.., m, k] and upper triangular R [.., k, n], k
 * the smaller of m and n, or m with mode 'complete'. Mode 'r' returns R alone, after an empty tensor. Computed in
 * float64; integers become float32. Gradients require the first k columns to be linearly independent.
 */
export function qr(x: Tensor, mode: (typeof modes)[number] = 'reduced'): [q: Tensor, r: Tensor] {
  return naming('qr', () => {
    expectTensor(orthogonalFactorsOp, x);
    if (!modes.includes(mode)) {
      throw new ArgumentError({
        what: 'qr: no such mode',
        given: shown(mode),
        expected: "'reduced', 'complete' or 'r'",
        remedy: "leave it out for 'reduced'",
      });
    }
    expectMatrices('qr', x);
    const [m, n] = x.shape.slice(-2) as [number, number];
    return tidy(() => {
      const matrix = cast(x, floating(x.dtype));
      if (m < n) {
        // The first m columns determine Q; the others are only multiplied by it.
        const [q, r] = qr(narrow(matrix, -1, 0, m));
        const others = matmul(mT(q), narrow(matrix, -1, m, n - m));
        const all = cat([r, others], -1);
        return mode === 'r' ? [narrow(q, -2, 0, 0), all] : [q, all];
      }
      const packed = bind1(orthogonalFactorsOp, [matrix], { complete: mode === 'complete' });
      const { q, r } = parts(packed, m);
      return mode === 'r' ? [narrow(q, -2, 0, 0), r] : [q, r];
    });
  });
}
