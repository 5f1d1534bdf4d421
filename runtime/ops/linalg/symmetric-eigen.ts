/** Eigenvalues and eigenvectors of symmetric matrices. */

import * as eigenKernels from '../../device/cpu/scalar/symmetric-eigen.ts';
import { named } from '../../device/kernel-op.ts';
import { naming } from '../../errors/naming.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { oneOf } from '../../options/option-kinds.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, mul, sub } from '../arithmetic/arithmetic.ts';
import { bindFloat } from '../core/promotion.ts';
import { narrow, select, transpose, unsqueeze } from '../movement/movement.ts';
import { diagEmbed } from '../movement/place.ts';
import { diagonal } from '../movement/views.ts';
import { matmul } from '../products/matmul.ts';
import { defineOp, expectTensor, saving } from '../record/define-op.ts';
import { quotient } from './quotient.ts';
import { inferSquare } from './square-matrices.ts';

const mT = (x: Tensor): Tensor => transpose(x, -1, -2);

/** Splits the kernel's result, or a gradient of it. */
function parts(packed: Tensor): { vectors: Tensor; values: Tensor } {
  const n = packed.shape.at(-1)!;
  return { vectors: narrow(packed, -2, 0, n), values: select(packed, -2, n) };
}

/** One result contains both, because only the first result of an op has a gradient. */
export const symmetricEigenOp = defineOp({
  name: 'symmetricEigen',
  operands: { x: 'data' },
  attrs: { upper: 'boolean' },
  infer: ([x]) => {
    const { dtype, shape } = inferSquare('eigh')([x!]);
    const n = shape.at(-1)!;
    return { dtype, shape: [...shape.slice(0, -2), n + 1, n] };
  },
  kernel: named('symmetricEigen', eigenKernels.symmetricEigen),
  vjp: {
    // V · (diag(dw) + (Vᵀ·dV) / (wⱼ − wᵢ)) · Vᵀ, symmetrized, because both triangles of x are the same variable.
    x: saving({ out: 'value' }, ({ out }, dy) => {
      const [own, change] = [parts(out), parts(dy)];
      const { vectors, values } = own;
      const distances = sub(unsqueeze(values, -2), unsqueeze(values, -1));
      const turned = quotient(withoutDiagonal(matmul(mT(vectors), change.vectors)), distances);
      const inner = add(turned, diagEmbed(change.values));
      const found = matmul(matmul(vectors, inner), mT(vectors));
      return mul(add(found, mT(found)), 0.5);
    }),
  },
});

/** Drops the diagonal, because the length of an eigenvector is fixed. */
const withoutDiagonal = (x: Tensor): Tensor => sub(x, diagEmbed(diagonal(x, 0, -2, -1)));

export interface SymmetricOptions {
  /** The triangle to read, 'L' by default; the other is assumed to be its mirror image. */
  readonly uplo?: 'L' | 'U';
}

const kinds = { uplo: oneOf('L', 'U') };

function packed(name: string, x: Tensor, options: SymmetricOptions): Tensor {
  expectTensor(symmetricEigenOp, x);
  expectOptions(name, options, kinds);
  return bindFloat(symmetricEigenOp, x, { upper: options.uplo === 'U' });
}

/**
 * `[eigenvalues, eigenvectors]` of symmetric matrices [.., n, n]: the values [.., n] ascend, the vectors are the
 * columns of [.., n, n]. Computed in float64; integers become float32. Signs of vectors are arbitrary. Vectors of equal
 * values have no gradient: if needed, it is NaN or infinite.
 */
export function eigh(x: Tensor, options: SymmetricOptions = {}): [values: Tensor, vectors: Tensor] {
  return naming('eigh', () =>
    tidy(() => {
      const { values, vectors } = parts(packed('eigh', x, options));
      return [values, vectors];
    }),
  );
}

/** The eigenvalues of symmetric matrices [.., n, n] in ascending order: [.., n]. */
export function eigvalsh(x: Tensor, options: SymmetricOptions = {}): Tensor {
  return naming('eigvalsh', () => tidy(() => parts(packed('eigvalsh', x, options)).values));
}
