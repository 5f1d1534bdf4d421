import { it } from 'vitest';
import { grad, tensor, tidy, toStatic, type Tensor } from '../src/index.ts';
import { weights } from './trace/same-as-eager.ts';
const fn = (x: Tensor, w: Tensor, n: Tensor) => {
    let sum = x.sum().mul(0.1);
    for (let i = 0; i < n.itemSync(); i++) {
      const h = x.mul(w).mul(sum);
      const k = h.sum().itemSync() > 0.2 ? h.tanh() : h.exp().mul(h);
      const [g] = grad(k.sum(), [x], { createGraph: true });
      sum = sum.add(g!.sum());
    }
    return sum;
};
const fn2 = (x: Tensor, w: Tensor, n: Tensor) => {
    let sum = x.sum().mul(0.1);
    for (let i = 0; i < n.itemSync(); i++) {
      const h = x.mul(w).mul(sum);
      const [g] = grad(h.tanh().sum(), [x]);
      sum = sum.add(g!.sum());
    }
    return sum;
};
const fn3 = (x: Tensor, w: Tensor, n: Tensor) => {
    let sum = x.mul(w).sum();
    if (n.itemSync() > 0) { const [g] = grad(x.mul(sum).sum(), [x]); sum = g!.sum(); }
    return sum;
};
it('x', () => { void fn3; for (const each of process.env.FN === '1' ? [fn] : [fn2]) for (const o of [{}]) for (const n of [0, 1, 2]) { console.log(each.name); const f = toStatic(each, { fullGraph: true, ...o } as never);  tidy(() => {
  const [x, w] = [weights([3, 4], 1), weights([3, 4], 7)];
  try { console.log(f(x, w, tensor(n)).itemSync(), each(x, w, tensor(n)).itemSync()); } catch (e) { console.log((e as Error).message.slice(0, 400)); }
  }); }
});
