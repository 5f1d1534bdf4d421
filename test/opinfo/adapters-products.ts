/** Operators of PyTorch that multiply matrices and vectors. */

import * as ours from '../../runtime/index.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { type Adapters, adapter } from './arguments.ts';

const product = (name: string, fn: (a: Tensor, b: Tensor) => Tensor) =>
  adapter(`${name}(x, other)`, 'input other', (given) =>
    fn(given.tensor('input'), given.tensor('other')),
  );

type Added = (x: Tensor, a: Tensor, b: Tensor, options: ours.AddProductOptions) => Tensor;

const added = (name: string, fn: Added) =>
  adapter(`${name}(x, a, b, { beta, alpha })`, 'input a b', (given) =>
    fn(given.tensor('input'), given.tensor('a'), given.tensor('b'), {
      beta: given.number('beta', 1),
      alpha: given.number('alpha', 1),
    }),
  );

export const productAdapters: Adapters = {
  matmul: product('matmul', ours.matmul),
  mm: product('mm', ours.mm),
  mv: product('mv', ours.mv),
  bmm: product('bmm', ours.bmm),
  dot: product('dot', ours.dot),
  vdot: product('vdot', ours.vdot),
  inner: product('inner', ours.inner),
  outer: product('outer', ours.outer),
  kron: product('kron', ours.kron),
  addmm: added('addmm', ours.addmm),
  addmv: added('addmv', ours.addmv),
  addbmm: added('addbmm', ours.addbmm),
  baddbmm: added('baddbmm', ours.baddbmm),
  addr: added('addr', ours.addr),
  einsum: adapter('einsum(equation, tensors)', 'tensors equation', (given) =>
    ours.einsum(given.text('equation', ''), given.tensors('tensors')),
  ),
  tensordot: adapter('tensordot(x, other, dims)', 'input other dims', (given) => {
    const dims = given.get('dims') as number | [number[], number[]];
    return ours.tensordot(given.tensor('input'), given.tensor('other'), dims);
  }),
  cross: adapter('cross(x, other, dim)', 'input other dim', (given) =>
    ours.cross(given.tensor('input'), given.tensor('other'), given.numberOr('dim', null)),
  ),
  cdist: adapter('cdist(x, other, p)', 'x1 x2 p compute_mode', (given) =>
    ours.cdist(given.tensor('x1'), given.tensor('x2'), given.number('p', 2)),
  ),
};
