// biome-ignore-all lint/suspicious/noTemplateCurlyInString: forms are source text
import type { Forms } from './parts.ts';

/** Tensors by what a library is used for: modules and their modes, randomness, views, gradients switched off, pre-existing state. */
export const tensorForms: Forms = (text, { e, n, c, s, local }) => [
  text`model.forward(${e})`,
  text`noGrad(() => (${c} ? ${e} : ${local}))`,
  text`noGrad(() => (${c} ? enableGrad(() => ${e}) : ${e}))`,
  text`(model.train(${c}), model.forward(${e}))`,
  text`(() => { const was = model.training; try { model.eval(); return model.forward(${e}); } finally { model.train(was); } })()`,
  text`(${c} ? randn([2, 3]).mul(${e}) : ${e}.add(rand([2, 3])))`,
  text`dropout(${e}, 0.5, ${c})`,
  text`noGrad(() => { ${s} return ${e}.mul(2); }).add(${local})`,
  text`noGrad(() => { try { if (${c}) throw new Error("inside"); return ${e}; } catch { return enableGrad(() => w0.mul(2)); } })`,
  text`(() => { const t = ${e}.clone(); const row = t.select(0, 1); row.mul_(${n}); t.add_(1); return t.add(row); })()`,
  text`(() => { const t = ${e}.mul(1), flat = t.reshape([6]), turned = t.t(); flat.narrow(0, 1, 2).add_(${n}); turned.select(0, 0).mul_(2); return ${c} ? turned.t() : flat.reshape([2, 3]); })()`,
  text`(() => { const t = ${e}.detach().clone(); const rows = t.unbind(0); for (const [i, row] of rows.entries()) row.add_(i + ${n}); return t; })()`,
  text`(() => { const [p, q] = ${e}.chunk(2, 0); return cat([q, p], 0); })()`,
  text`(() => { const [v, indices] = ${e}.max(1, true); return v.add(indices).expand([2, 3]).clone(); })()`,
  text`where(${e}.gt(${n}), ${e}, ${local})`,
  text`${e}.to("float64").mul(${n}).to("float32")`,
  text`${e}.mul(Number(${e}.shape.join("").length)).add(${local}.ndim)`,
  text`tensor(${e}.toArraySync())`,
  text`(() => { using t = ${e}.mul(2); return t.add(1); })()`,
  text`(() => { const cached = cache.get(Math.trunc(${n})) ?? ${e}.detach(); cache.set(Math.trunc(${n}), cached); return cached; })()`,
  text`(tags.set(${local}, ${n}), ${local}.mul(tags.get(${local}) ?? 1))`,
  text`(history.push(${e}), history.length > 3 && history.shift(), history.at(-1))`,
  text`pipeline.reduce((t, f) => f(t), ${e})`,
  text`[${e}, ${e}].map((t) => t.sum()).reduce((p, q) => p.add(q)).mul(${e})`,
  text`Object.values(model.namedParameters ? Object.fromEntries(model.namedParameters()) : {}).reduce((t, p) => t.add(p.sum()), ${e})`,
];

/** Statements of training: hooks, optimizers with several groups, gradients, writes. */
export const trainingForms: Forms = (text, { e, n, c, s, b, local }) => [
  text`{ optimizer.zeroGrad(); ${e}.mul(w0).add(w1).mean().backward(); optimizer.step(); }`,
  text`{ optimizer.groups[1].lr = ${n} * 0.01; optimizer.groups[0].momentum = ${c} ? 0.9 : 0; }`,
  text`{ const loss = ${e}.mul(w0).sum(); if (Number.isFinite(loss.itemSync())) { loss.backward(); utils.clipGradNorm_([w0], 1); optimizer.step(); } optimizer.zeroGrad(); }`,
  text`{ const t = ${e}.mul(w0); const hook = t.registerHook((g) => { log.push("hook"); return g.mul(${n}); }); if (${c}) hook.remove(); t.sum().backward(); w0.grad = null; }`,
  text`w1.requiresGrad_(${c});`,
  text`noGrad(() => { for (const [i, p] of [w0, w1].entries()) p.mul_(1 - 0.1 * i).add_(${e}.detach().mul(0.01)); });`,
  text`noGrad(() => { average.mul_(0.9).add_(${e}.detach(), 0.1); buffer.copy_(average); });`,
  text`{ const row = buffer.select(0, 0); row.add_(${n}); log.push(row.select(0, 1).itemSync()); }`,
  text`{ const [g] = grad(${e}.mul(w0).sum(), [w0], { allowUnused: true }); ${local} = g ?? ${local}; }`,
  text`{ const before = buffer.clone(); try { buffer.add_(${e}.detach()); if (${c}) throw new TypeError("rolled"); } catch (error) { log.push(error.message); buffer.copy_(before); } }`,
  text`try { ${local} = ${e}.add(zeros([4, 5])); } catch (error) { log.push(error.constructor.name); ${s} } finally { count.n++; }`,
  text`{ model.layer.weight.grad?.zero_(); model.calls += ${n}; }`,
  text`if (isGradEnabled()) ${b} else log.push("off");`,
];
