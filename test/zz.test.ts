import { it } from 'vitest';
import { grad, backward, seed, rand, noGrad, enableGrad, stack, tensor, tidy, toStatic, dropout, isGradEnabled, type Tensor } from '../src/index.ts';
import * as lib from '../src/index.ts';
import { weights } from './trace/same-as-eager.ts';
const b = (t: unknown): unknown => t === null || t === undefined ? t : Array.isArray(t) ? t.map(b) : typeof t === 'object' && 'dataSync' in (t as object) ? [...(t as Tensor).dataSync()].slice(0, 3).map((v) => typeof v === 'number' ? Number(v.toPrecision(6)) : v) : t;
const probes: Record<string, (x: Tensor, w: Tensor, n: Tensor) => unknown> = {
  'twice add': (x, w) => { const y = x.add(w); const g = grad(y.sum(), [x]); const h = grad(y.sum(), [x]); return [g, h]; },
  'twice add same root': (x, w) => { const y = x.add(w).sum(); const g = grad(y, [x]); const h = grad(y, [x]); return [g, h]; },
  'twice mul': (x, w) => { const y = x.mul(w).sum(); const g = grad(y, [x]); const h = grad(y, [x]); return [g, h]; },
  'twice backward sum': (x, w) => { const y = x.add(w).sum(); y.backward(); y.backward(); return [x.grad]; },
  'twice backward neg sub': (x, w) => { const y = x.neg().sub(w).reshape([12]).sum(); y.backward(); y.backward(); return [x.grad]; },
  'twice exp': (x, w) => { const y = x.exp().sum(); y.backward(); y.backward(); return [x.grad]; },
  'twice partly': (x, w) => { const y = x.exp(); const z = y.add(1).sum(); z.backward(); const k = y.add(2).sum(); k.backward(); return [x.grad]; },
  'twice mulScalar': (x) => { const y = x.mul(3).sum(); y.backward(); y.backward(); return [x.grad]; },
  'twice matmul const': (x, w) => { const y = x.matmul(w.detach().t()).sum(); y.backward(); y.backward(); return [x.grad]; },
  'seed in branch': (x, w, n) => { let y = x.mul(1); if (n.itemSync() > 0) { seed(5); y = y.add(rand([3, 4])); } else y = y.mul(rand([3, 4])); return y.add(rand([3, 4])); },
  'gradEnabled in branch': (x, w, n) => { let y = x; if (n.itemSync() > 0) { y = noGrad(() => (isGradEnabled() ? x.mul(2) : x.mul(3))); } else if (isGradEnabled()) y = x.exp(); return [y, y.requiresGrad]; },
  'noGrad around branch': (x, w, n) => noGrad(() => { let y = x; if (n.itemSync() > 0) y = enableGrad(() => x.mul(2)); return [y, y.requiresGrad]; }),
  'class in branch': (x, w, n) => { let y = x.mul(1); if (n.itemSync() > 0) { class A { k = y.mul(2); f(t: Tensor) { return this.k.add(t); } } y = new A().f(w); } return y; },
  'class in loop': (x, w, n) => { let y = x.mul(1); for (let i = 0; i < n.itemSync(); i++) { class A { f(t: Tensor) { return t.mul(2).add(w); } } y = new A().f(y); } return y; },
  'class in branch, instance out': (x, w, n) => { let o: { f(t: Tensor): Tensor } = { f: (t) => t.mul(3) }; if (n.itemSync() > 0) { class A { k = 2; f(t: Tensor) { return t.mul(this.k); } } o = new A(); } return o.f(x); },
  'spread held': (x, w, n) => { let held: Record<string, unknown> = { a: x, k: 1 }; const other = held; if (n.itemSync() > 0) held = { ...held }; return [held === other, (held.a as Tensor).mul(2)]; },
  'spread held arr': (x, w, n) => { let held = [x, w]; const other = held; if (n.itemSync() > 0) held = [...held]; return [held === other, held[0]!.mul(2)]; },
  'iterator in branch': (x, w, n) => { const it = [x, w, x.mul(2)].values(); let y = it.next().value!; if (n.itemSync() > 0) y = y.add(it.next().value!); return y.mul(it.next().value!); },
  'generator in branch': (x, w, n) => { const it = (function* () { yield x; yield w; yield x.mul(2); })(); let y = it.next().value as Tensor; if (n.itemSync() > 0) y = y.add(it.next().value as Tensor); return y.mul(it.next().value as Tensor); },
  'results of structures': (x, w, n) => { if (n.itemSync() > 0) return [x.mul(2)]; return { a: x.mul(2), b: 3 }; },
  'results of structures 2': (x, w, n) => { if (n.itemSync() > 0) return [x.mul(2), w]; return [x]; },
  'results of structures 3': (x, w, n) => { if (n.itemSync() > 0) return x.mul(2); return null; },
  'results of kinds': (x, w, n) => { if (n.itemSync() > 0) return x.mul(2); return 'none'; },
  'results of dtypes': (x, w, n) => { if (n.itemSync() > 0) return x.mul(2); return x.gt(0); },
  'results of shapes': (x, w, n) => { if (n.itemSync() > 0) return x.mul(2); return x.sum(); },
  'expanded written in branch': (x, w, n) => { const e = x.detach().select(0, 0).unsqueeze(0).expand([3, 4]); if (n.itemSync() > 0) e.add_(1); return e.mul(2); },
  'list second': (x, w, n) => { const out: Tensor[] = []; let h = x.mul(w); for (let i = 0; i < n.itemSync(); i++) { h = h.tanh().mul(w); out.push(h); } let s = h.sum(); for (const o of out) s = s.add(o.mul(o).sum()); return s; },
  'stack second': (x, w, n) => { const out: Tensor[] = [x]; let h = x.mul(w); for (let i = 0; i < n.itemSync(); i++) { h = h.tanh().mul(w); out.push(h); } const all = stack(out); return all.mul(all).softmax(0).sum().add(all.exp().sum()); },
  'penalty inside branch': (x, w, n) => { const h = x.mul(w); const y = n.itemSync() > 0 ? h.tanh().mul(h) : h.exp(); const [g] = grad(y.sum(), [x], { createGraph: true }); return y.sum().add(g!.pow(2).sum()); },
  'penalty inside loop': (x, w, n) => { let h = x.mul(w); for (let i = 0; i < n.itemSync(); i++) h = h.tanh().mul(w); const [g] = grad(h.sum(), [x], { createGraph: true }); return h.sum().add(g!.pow(2).sum()); },
  'penalty in a callee': (x, w, n) => { const net = (t: Tensor) => { const h = t.mul(w); if (n.itemSync() > 0) return h.tanh().mul(h); return h.exp(); }; const y = net(x).sum(); const [g] = grad(y, [x], { createGraph: true }); return y.add(g!.pow(2).sum()).mul(3); },
  'penalty bounded loop': (x, w, n) => { let h = x.mul(w); for (let i = 0; i < 3; i++) { if (i >= n.itemSync()) break; h = h.tanh().mul(w); } const [g] = grad(h.sum(), [x], { createGraph: true }); return h.sum().add(g!.pow(2).sum()); },
  'penalty two branches': (x, w, n) => { let h = x.mul(w); if (n.itemSync() > 0) h = h.tanh(); const k = h.mul(h); let m = k; if (n.itemSync() > 1) m = k.exp(); else m = k.sin(); const [g] = grad(m.sum(), [x], { createGraph: true }); return m.sum().add(g!.pow(2).sum()); },
  'hooks order': (x, w, n) => { const seen: string[] = []; const h1 = x.registerHook(() => { seen.push('x'); }); const h2 = w.registerHook(() => { seen.push('w'); }); let y = x.mul(w); if (n.itemSync() > 0) y = y.mul(x.exp()).add(w.exp()); else y = y.add(w.exp()).mul(x.exp()); y.sum().backward(); h1.remove(); h2.remove(); return seen; },
};
const second = (f: Function, x: Tensor, w: Tensor, n: Tensor) => { const y = f(x, w, n) as Tensor; if (!(y instanceof lib.Tensor) || !y.requiresGrad) return b(y); const [g] = grad(y.sum(), [x], { createGraph: true }); if (!g!.requiresGrad) return [b(y), b(g)]; return [b(y), b(g), b(grad(g!.pow(2).sum(), [x, w], { allowUnused: true }))]; };
it('x', () => {
  const only = process.env.ONLY;
  for (const [name, f] of Object.entries(probes)) {
    if (only && !name.includes(only)) continue;
    for (const k of [-1, 1, 2]) {
      const out: string[] = [];
      for (const [mode, make] of [['eager', () => f], ['full', () => toStatic(f, { fullGraph: true })], ['auto', () => toStatic(f)], ['breaks', () => toStatic(f, { fullGraph: false, capture: undefined } as never)]] as const) {
        const one = () => tidy(() => {
          seed(1);
          const [x, w] = [weights([3, 4], 1), weights([3, 4], 7)];
          try { return JSON.stringify(second(make(), x, w, tensor(k))); } catch (e) { return `${(e as Error).constructor.name}: ${(e as Error).message.split('\n').slice(0, process.env.LONG ? 12 : 3).join(' | ').slice(0, process.env.LONG ? 900 : 240)}`; }
        });
        out.push(one());
      }
      const same = out.every((o) => o === out[0]);
      console.log(same ? `ok   ${name} ${k}${out[0]!.startsWith('[') || !out[0]!.includes('Error') ? '' : ' ' + out[0]}` : `DIFF ${name} ${k}\n   ${out.map((o, i) => ['eager', 'full ', 'auto ', 'break'][i] + ' ' + o).join('\n   ')}`);
    }
  }
});
