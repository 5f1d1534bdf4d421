/** Where gradients of linear algebra are compared with differences. */

import * as ours from '../../../runtime/index.ts';
import { bind1 } from '../../../runtime/ops/core/bind.ts';
import { opNamed } from '../../../runtime/ops/op-table.ts';
import type { Shape } from '../../../runtime/spec/shape.ts';
import type { Tensor } from '../eager.ts';
import type { GradientCase } from './gradient-cases.ts';

/** Far from singular. */
const shifted = (x: Tensor): Tensor => x.add(ours.eye(x.shape.at(-1)!).mul(3));
/** With singular values, or eigenvalues where it is square, that lie apart; symmetric if it is square. */
const apart = (x: Tensor): Tensor => {
  const [m, n] = x.shape.slice(-2) as [number, number];
  const scale = ours
    .arange(1, Math.min(m, n) + 1)
    .mul(3)
    .diag();
  const wide = ours.pad(scale, [0, n - Math.min(m, n), 0, m - Math.min(m, n)]);
  return (m === n ? x.add(x.mT) : x).add(wide);
};
const definite = (x: Tensor): Tensor => shifted(x.matmul(x.mT));

const of = (
  name: string,
  shapes: readonly Shape[],
  run: (...inputs: Tensor[]) => Tensor,
  range: readonly [number, number] = [-1, 1],
): GradientCase => ({ name, shapes, range, run });

const square: Shape[] = [[3, 3]];
const batch: Shape[] = [[2, 2, 2]];
const system = (a: Shape, b: Shape): Shape[] => [a, b];

const triangular = (name: string, options: ours.TriangularOptions) =>
  of(
    name,
    system([2, 3, 3], [2, 3, 2]),
    (a, b) => ours.solveTriangular(a!, options.left === false ? b!.mT : b!, options),
    [0.5, 1.5],
  );

export const matrixGradientCases = {
  inverse: [
    of('matrix', square, (x) => ours.inverse(shifted(x!))),
    of('batch, transposed', batch, (x) => shifted(x!).mT.inverse()),
  ],
  solve: [
    of('batch', system([2, 3, 3], [2, 3, 2]), (a, b) => ours.solve(shifted(a!), b!)),
    of('vector', system([3, 3], [3]), (a, b) => ours.solve(shifted(a!), b!)),
    of('broadcast', system([2, 2], [3, 2, 1]), (a, b) => ours.solve(shifted(a!), b!)),
    of('from the right', system([3, 3], [2, 3]), (a, b) =>
      ours.solve(shifted(a!), b!, { left: false }),
    ),
    of('with itself', square, (x) => ours.solve(shifted(x!), x!)),
  ],
  solveTriangular: [
    triangular('upper', { upper: true }),
    triangular('lower', { upper: false }),
    triangular('upper, 1 on the diagonal', { upper: true, unitriangular: true }),
    triangular('lower, 1 on the diagonal', { upper: false, unitriangular: true }),
    triangular('lower, from the right', { upper: false, left: false }),
  ],
  det: [
    of('matrix', square, (x) => ours.det(shifted(x!).mul(0.5))),
    of('batch', batch, (x) => shifted(x!).det()),
  ],
  cofactors: [of('matrix', square, (x) => bind1(opNamed('cofactors'), [shifted(x!).mul(0.5)]))],
  logAbsDet: [
    of('matrix', square, (x) => ours.slogdet(shifted(x!))[1]),
    of('negative determinants', batch, (x) => shifted(x!).flip(-1).slogdet()[1]),
    of('logdet', batch, (x) => shifted(x!).logdet()),
  ],
  cholesky: [
    of('matrix', square, (x) => ours.cholesky(definite(x!))),
    of('batch, upper', batch, (x) => definite(x!).cholesky({ upper: true })),
  ],
  symmetricEigen: [
    of('values', square, (x) => ours.eigvalsh(apart(x!))),
    of('squares of vectors', square, (x) => ours.eigh(apart(x!))[1].square()),
    of('upper triangles', batch, (x) => ours.eigh(apart(x!), { uplo: 'U' })[1].square()),
  ],
  singularVectors: [
    of('values', [[2, 3, 2]], (x) => ours.svdvals(apart(x!))),
    of('nuclear norms', [[2, 3, 2]], (x) => ours.norm(apart(x!), 'nuc', [1, 2])),
    of('projections', [[3, 2]], (x) => {
      const [u, , vh] = ours.svd(apart(x!), { fullMatrices: false });
      return ours.cat([u.matmul(vh).flatten(), vh.square().flatten()]);
    }),
  ],
  orthogonalFactors: [
    of('tall', [[2, 3, 2]], (x) => ours.cat(ours.qr(apart(x!)), 1)),
    of('wide', [[2, 3]], (x) => ours.cat(ours.qr(apart(x!)), 1)),
  ],
  luFactors: [square, batch, [[2, 4, 2]], [[2, 4]]].map((shapes) =>
    of(`of ${shapes}`, shapes as typeof square, (x) => {
      const [, l, u] = ours.lu(apart(x!));
      return ours.cat([l.flatten(), u.flatten()]);
    }),
  ),
  matrixExp: [
    of('matrix', square, (x) => ours.matrixExp(x!)),
    of('batch, scaled', batch, (x) => x!.mul(3).matrixExp()),
  ],
  pseudoinverse: [
    of('tall', [[2, 3, 2]], (x) => ours.pinv(apart(x!))),
    of('wide', [[2, 3]], (x) => ours.pinv(apart(x!))),
    of('least squares', [[3, 2], [3]], (a, b) => ours.lstsq(apart(a!), b!)[0]),
  ],
};
