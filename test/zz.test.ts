import { it } from 'vitest';
import { randn, seed, type Tensor, tensor, tidy, toStatic } from '../src/index.ts';
it('x', () => {
  const inTurn = (a: Tensor, b: Tensor) => a.mul(0.3).add(b.sin()).mul(a.cos().add(1.3));
  const fn = (x: Tensor, y: Tensor, n: Tensor) => { let t = x; if (n.itemSync() > 0) t = y; return inTurn(t, x); };
  const graph = toStatic(fn, { fullGraph: true, memory: { order: false } as never });
  const x = randn([4]).requiresGrad_(); const y = randn([4]).requiresGrad_();
  graph(x, y, tensor(0)).sum().backward();
  for (const { record, stages } of graph.programs() as any) {
    console.log(stages.planned.backward.sums, stages.planned.backward.gradInputs);
    for (const s of stages.planned.backward.plan.steps) console.log(s.op.op.name, s.op.inputs, '->', s.op.outputs, JSON.stringify(s.op.attrs), 'frees', s.frees, s.reuses);
  }
});
