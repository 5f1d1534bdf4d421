// biome-ignore-all lint/suspicious/noTemplateCurlyInString: forms are source text
import type { Forms } from './parts.ts';

/** Tensors by functions: destructuring, spread, closures, generators, tags, receivers, optional chains. */
export const functionForms: Forms = (text, { e, n, c, s, b, local }) => [
  text`(({ t = ${e}, k: { n = ${n}, ...more } = {}, ...rest } = {}) => t.mul(n).add(Object.keys(rest).length + Object.keys(more).length))(${c} ? { t: ${e}, k: { n: undefined, p: 1 }, q: 2 } : undefined)`,
  text`((first, second = first, ...rest) => rest.reduce((sum, t) => sum.add(t), first.sub(second)))(...items, ...[${e}, ${e}].slice(${c} ? 1 : 0))`,
  text`${e}.mul(Math.max(...[${n}, ${n}], ...bag))`,
  text`(() => { const fs = []; for (let i = 0; i < 3; i++) { fs.push((t) => t.mul(i)); if (${c}) i++; } return fs.reduce((t, f) => t.add(f(t)), ${e}); })()`,
  text`(() => { const fs = []; for (var i = 0, held = ${e}; i < 2; i++) fs.push(() => held.mul(i)); held = ${e}; return fs[0]().add(fs[1]()); })()`,
  text`(() => { const fs = []; for (const t of [${e}, ${e}]) fs.push(() => t, (u) => t.add(u)); return fs[1](fs[2]()).sub(fs[3](fs[0]())); })()`,
  text`(() => { function* up(t) { let by = 1; try { while (by < 4) { const told = yield t.mul(by); by += told ?? 1; } } finally { log.push("left"); } return ${e}; } const it = up(${e}); let { value } = it.next(); value = value.add(it.next(${c} ? 2 : undefined).value ?? 0); const end = ${c} ? it.return(value) : it.next(5); log.push(end.done); return end.value ?? value; })()`,
  text`(() => { function* inner(t) { yield t; yield t.mul(2); return t.sub(1); } function* outer() { const last = yield* inner(${e}); yield last; ${s} yield* [${e}]; } let sum = zeros([2, 3]); for (const t of outer()) { sum = sum.add(t); if (${c}) break; } return sum; })()`,
  text`(() => { const [a, b] = (function* () { try { yield ${e}; yield ${e}; yield log.push("never"); } finally { log.push("closed"); } })(); return a.sub(b); })()`,
  text`(() => { const it = { from: 0, [Symbol.iterator]() { let i = this.from; return { next: () => ({ done: i >= 3, value: ${e}.mul(i++) }), return: () => (log.push("return"), {}) }; } }; let sum = ${e}; for (const t of it) { sum = sum.add(t); if (${c}) break; } return sum; })()`,
  text`tag\`a\${${e}}b\${${n}}\\n\${${n}}\``,
  text`(obj.maybe?.deep?.run(${e}) ?? obj.run?.(${e}) ?? ${e})`,
  text`(obj?.["run"]?.call(obj, ${e}).mul(obj.none?.[log.push("never")]?.n ?? ${n}))`,
  text`scaled.bind(null, ${e})(${n})`,
  text`scaled.apply(undefined, [${e}, ...[${n}]])`,
  text`[${e}, ${e}].map(scaled)[1]`,
  text`((memo) => { const get = (k) => memo[k] ??= ${e}.mul(k); return get(1).add(get(2)).add(get(1)); })({})`,
  text`(function deep(t, k) { return k <= 0 ? t : deep(${c} ? t.tanh() : t.mul(0.9), k - 1); })(${e}, Math.min(3, ${n}))`,
  text`((f) => f(f))((self) => (t, k = 2) => k ? self(self)(t.add(k), k - 1) : t)(${e})`,
  text`(function () { arguments[0] = arguments[0].mul(arguments.length); return Array.prototype.reduce.call(arguments, (p, q) => p.add(q)); })(${e}, ${e}, ...items)`,
  text`(function (t) { return t.mul(this.a).add(this?.deep.b); }).call(obj, ${e})`,
  text`((t) => { try { return t.mul(${n}); } finally { log.push("after"); if (${c}) return ${e}; } })(${e})`,
  text`[(t) => t.add(1), (t) => t.mul(${n}), scaled].reduce((g, f) => (t) => f(g(t)))(${e})`,
  text`((later) => { later.push(() => ${local}); ${b} return later[0](); })([])`,
  text`new Function("t", "k", "return t.mul(k)")(${e}, 2)`,
  text`(({ length }, [head]) => head.mul(length))("four", [${e}])`,
  text`Reflect.apply(scaled, null, [${e}])`,
  text`(() => { let { t: held, n: m } = { t: ${e}, n: ${n} }; [held, m] = [held.mul(m), m + 1]; ({ t: held = held, m = 3 } = { m: undefined }); return held.add(m); })()`,
];
