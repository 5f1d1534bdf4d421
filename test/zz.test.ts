import { expect, it } from 'vitest';
import { grad, tensor, tidy, toStatic, type Tensor } from '../src/index.ts';
import { weights } from './trace/same-as-eager.ts';
import { bits, uses } from './run-program/gradient-uses.ts';
const fn = (x: Tensor, w: Tensor, n: Tensor) => {
    let h = x.matmul(w).tanh();
    const before = h;
    if (n.itemSync() > 1) h = h.exp().mul(h);
    return [h.mul(before).sum(), h];
};
const plain = (x: Tensor, w: Tensor, n: Tensor) => {
    let h = x.matmul(w).tanh();
    return [h.mul(h).sum(), h];
};
it('x', () => {
 for (const [name, f] of [['eager', fn], ['full', toStatic(fn, { fullGraph: true })],['plain', toStatic(plain)]] as const) tidy(() => {
  const [x, w] = [weights([3, 4], 1), weights([4, 3], 7)];
  const ys = f(x, w, tensor(1));
    const seen: unknown[] = [];
    ys.at(-1)!.registerHook((g) => {
      seen.push(bits(g)?.slice(0, 3));
      return g.mul(g);
    });
    const [first] = grad(ys[0]!, [x], { createGraph: true });
    first!.pow(2).sum().add(ys[0]!).backward();
    console.log(name, JSON.stringify([seen, ...[first, x.grad, w.grad].map(bits).map((x) => x!.slice(0,3))]));
 });
});
