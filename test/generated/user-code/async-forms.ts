// biome-ignore-all lint/suspicious/noTemplateCurlyInString: forms are source text
import type { Forms } from './parts.ts';

/** Statements with `await`: between ops, in loops, `try` and expressions, of promises that are settled, pending or rejected. */
export const awaitingForms: Forms = (text, { e, n, c, s, b, local }) => [
  text`${local} = await ${e};`,
  text`${local} = (await soon(${e})).add(await ${n});`,
  text`${local} = ${e}.add(await soon(${e})).mul((await soon({ n: ${n} })).n);`,
  text`const_: { const [p, q = ${e}] = await Promise.all([soon(${e}), ${e}, soon(${n})]); t0 = p.add(q); if (await ${c}) break const_; m0++; }`,
  text`{ const all = await Promise.allSettled([soon(${e}), fails(${n}), ${e}]); log.push(all.map(({ status }) => status).join()); t1 = all[2].value; }`,
  text`${local} = await Promise.race([soon(${e}), new Promise(() => {})]);`,
  text`try { await fails(${n}); t0 = ${e}; } catch (error) { log.push(error.message); ${b} } finally { await null; m0++; }`,
  text`try { if (await ${c}) throw new Fault("waited", { t: await soon(${e}) }); ${s} } catch (error) { if (error.t) t1 = error.t; else throw error; }`,
  text`for (let i = 0; i < 2; i++) { t0 = t0.add(await soon(${e})); if (${c}) continue; ${s} }`,
  text`for await (const t of [soon(${e}), ${e}]) { t1 = t1.add(t); if (${c}) break; }`,
  text`for await (const t of steps(${e}, ${n})) { t0 = t; if (await ${c}) break; ${s} }`,
  text`for (const t of await Promise.all(items.map(async (each, i) => each.mul(await soon(i))))) t0 = t0.add(t);`,
  text`${local} = await (async () => { const held = ${e}; await null; return held.mul(m0); })();`,
  text`${local} = await nested(${e}, ${n});`,
  text`${local} = await layer.run(${e});`,
  text`{ const pending = nested(${e}, ${n}); ${s} t1 = (await pending).add(t1); }`,
  text`{ const pending = (async () => { await null; obj.t = ${e}; return obj.t; })(); obj.t = ${e}; t0 = await pending; }`,
  text`await Promise.resolve().then(() => { ${local} = ${e}; });`,
  text`noGrad(() => { buffer.add_(${e}.detach()); }); await null; ${local} = ${local}.add(buffer);`,
  text`{ optimizer.zeroGrad(); const loss = ${e}.mul(w0).mean(); await soon(1); loss.backward(); optimizer.step(); }`,
  text`m0 = Math.round(await ${e}.sum().item());`,
  text`const_2: switch (await soon(${n})) { case 1: t0 = ${e}; case 2: { ${s} break const_2; } default: t1 = await ${e}; }`,
  text`log.push(await soon(${n}), await ${c});`,
  text`await (${c} ? soon(0) : null);`,
  text`${local} = (await Promise.all([(async (t) => t.mul(${n}))(${e}), ${e}, (async () => { log.push("now"); return ${local}; })()])).reduce((a, b) => a.add(b));`,
  text`t0 = (await Promise.race([(async () => ${e})(), Promise.resolve(${e})])).add((await Promise.allSettled([(async () => ${n})(), nothing2(${c})])).length);`,
];
