import { it } from 'vitest';
import { grad, tensor, tidy, toStatic, type Tensor } from '../src/index.ts';
import { weights } from './trace/same-as-eager.ts';
import { printProgram } from '../runtime/program/print.ts';
const fn = (g: Tensor, a: Tensor, b: Tensor) => {
    const p = g.expand([3,3]); 
    const q = g.expand([3,3]);
    return p.mul(a).add(q.mul(b).mul(a));
};
void [grad, tensor];
it('x', () => { const f = toStatic((x: Tensor, w: Tensor) => { const a = x.matmul(w); const h = a.mul(a).tanh(); const y = h.sum().add(h.mul(a).sum()).add(h.mul(h).sum()); const [g] = grad(y, [x], { createGraph: true }); return g!; }); tidy(() => {
  const [x, w] = [weights([3, 4], 1), weights([4, 3], 7)];
  f(x, w); for (const p of f.programs()) { console.log(printProgram(p.stages!.traced)); console.log(printProgram(p.stages!.forward)); console.log(printProgram(p.stages!.backward!)); console.log(JSON.stringify(p.stages!.passes)); }
  }); void fn;
});
