import { it } from 'vitest';
import { grad, tensor, tidy, toStatic, type Tensor } from '../src/index.ts';
import { weights } from './trace/same-as-eager.ts';
import { uses } from './run-program/gradient-uses.ts';
const fn = (x: Tensor, w: Tensor, n: Tensor) => {
    let h = x.matmul(w);
    const a = h.mul(h).tanh();
    h = a.mul(a).tanh();
    let sum = h.sum();
    sum = sum.add(h.mul(h).sum());
    sum = sum.add(a.mul(h).sum());
    return [sum];
};
it('x', () => { for (const f of [toStatic(fn), toStatic(fn, {memory: {minimizeSaved: false}}), toStatic(fn, {passes: { shareSubexpressions: false }})]) for (const [name, use] of Object.entries(uses)) {
  tidy(() => {
  const [x, w] = [weights([3, 4], 1), weights([4, 3], 7)];
  try { use(f(x, w, tensor(1)), x, w); console.log(name, 'ok'); } catch (e) { console.log(name, (e as Error).message); }
  });
}});
