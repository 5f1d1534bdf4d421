// biome-ignore-all lint/suspicious/noTemplateCurlyInString: forms are source text
import type { Forms } from './parts.ts';

/** Tensors by Maps, Sets, arrays, typed arrays, JSON and objects of all kinds. */
export const collectionForms: Forms = (text, { e, n, c, local }) => [
  text`(() => { const m = new Map([["a", ${e}], ["b", ${e}]]); m.set(${n}, ${e}); if (${c}) m.delete("a"); let sum = zeros([2, 3]); for (const [key, t] of m) sum = sum.add(t.mul(typeof key === "number" ? key : 2)); return sum; })()`,
  text`(() => { const seen = new Map(); for (const t of [${e}, ${e}, ${local}]) seen.set(t, (seen.get(t) ?? 0) + 1); log.push(seen.size); return [...seen].map(([t, times]) => t.mul(times)).reduce((a, b) => a.add(b)); })()`,
  text`(() => { const seen = new Set([${local}, ${e}, ${local}]); if (${c}) seen.delete(${local}); log.push(seen.size, seen.has(x)); let sum = ${e}; seen.forEach((t) => { sum = sum.add(t); }); return sum; })()`,
  text`(() => { const held = new WeakMap(); held.set(${local}, ${n}); const key = ${local}; return key.mul(held.get(key) ?? (held.has(key), 3)); })()`,
  text`(() => { kept.set("k" + (${n}), ${e}); const [first] = kept.values(); log.push([...kept.keys()].join()); return first; })()`,
  text`(() => { bag.add(${n}); if (bag.size > 4) bag.clear(); let t = ${e}; for (const each of bag) t = t.mul(each); return t; })()`,
  text`(() => { const xs = new Float32Array([${n}, ${n}, 3]); xs[0] += 0.1; xs.sort(); const [a, ...rest] = xs; return ${e}.mul(a).add(rest.length).add(tensor([...xs], { shape: [1, 3] })); })()`,
  text`(() => { numbers[1] = ${n}; numbers[0]++; return ${e}.mul(numbers.reduce((a, b) => a + b)).add(numbers.subarray(1)[0]); })()`,
  text`(() => { const xs = Uint8Array.from({ length: 3 }, (_, i) => i * ${n}); return ${e}.mul(xs.at(-1)).sub(xs.indexOf(2)); })()`,
  text`(() => { const o = JSON.parse(JSON.stringify({ a: ${n}, b: [${n}, null, undefined], c: { toJSON() { return "j"; } }, d: () => 1 })); log.push(Object.keys(o).join(), o.c); return ${e}.mul(o.a ?? 1).add(o.b.length); })()`,
  text`[${e}, ${e}, ${local}].sort((p, q) => p.sum().itemSync() - q.sum().itemSync())[0]`,
  text`(() => { const all = [{ t: ${e}, k: ${n} }, { t: ${e}, k: ${n} }, { t: ${local}, k: 1 }]; all.sort((p, q) => q.k - p.k); log.push(all.map(({ k }) => k).join()); return all[0].t.add(all.at(-1).t); })()`,
  text`[3, ${n}, 10, ${n}].toSorted().concat([${n}].flat()).reduce((t, k, i) => t.mul(k).add(i), ${e})`,
  text`(() => { const all = [${e}, , ${e}]; all.length = ${c} ? 2 : 3; let sum = zeros([2, 3]); all.forEach((t) => { sum = sum.add(t); }); log.push(1 in all, all.length); return sum; })()`,
  text`(() => { const all = [${e}, ${e}, ${local}]; const [cut] = all.splice(${c} ? 0 : 1, 1, ${e}, ${e}); all.unshift(cut); all.reverse(); log.push(all.indexOf(cut), all.includes(x)); return all.flatMap((t, i) => i % 2 ? [] : [t, t]).reduceRight((a, b) => a.sub(b)); })()`,
  text`(() => { const groups = Object.groupBy ? Object.entries({ p: [${e}], q: [${e}, ${local}] }) : []; return Object.fromEntries(groups.map(([key, all]) => [key + "1", all.at(-1)])).q1 ?? ${e}; })()`,
  text`(() => { const o = { b: ${e}, 2: ${n}, a: ${e}, 1: ${n}, get g() { log.push("g"); return this.a.add(this.b); }, [Symbol.for("s")]: 1 }; const copy = { ...o, b: ${local} }; delete copy[2]; for (const key in copy) log.push(key); return copy.g.mul(Object.getOwnPropertySymbols(copy).length); })()`,
  text`(() => { const o = Object.freeze({ t: ${e}, in: { n: ${n} } }); try { o.t = x; } catch (error) { log.push(error.name); } o.in.n++; return o.t.mul(o.in.n).add(Object.isFrozen(o) ? 1 : 0); })()`,
  text`(() => { try { frozen.n = ${n}; } catch (error) { log.push(error.name); } try { frozen.list.push(${local}); delete frozen.n; } catch (error) { log.push(error.name); } return frozen.t.mul(frozen.n); })()`,
  text`(() => { const o = {}; Object.defineProperty(o, "t", { get: () => ${e}, enumerable: ${c}, configurable: true }); Object.defineProperty(o, "n", { value: ${n} }); log.push(Object.keys(o).length, o.propertyIsEnumerable("n")); return o.t.mul(o.n); })()`,
  text`(() => { const copy = structuredClone({ n: ${n}, list: [${n}, { deep: true }] }); copy.list[1].deep = copy.n; return ${e}.mul(copy.list[1].deep).add(copy.list.length); })()`,
  text`(() => { const [p, q = ${e}, ...rest] = items; return rest.length ? rest.at(-1).add(p) : p.mul(q); })()`,
  text`(() => { const grid = Array.from({ length: 2 }, (_, i) => Array.from({ length: 2 }, (_, j) => ${e}.add(i * 2 + j))); grid[0][1] = grid[1][0]; return grid.flat().at(${n}) ?? grid[1][1]; })()`,
  text`(() => { const parts = "a=1;b=2".split(";").map((each) => each.split("=")); const o = Object.fromEntries(parts); const [, digits] = /b=(?<d>\\d)/.exec("a=1;b=" + (${n})) ?? [, "7"]; return ${e}.mul(Number(o.a)).add(parseInt(digits, 10)); })()`,
  text`(() => { const found = []; for (const { 0: word, index } of "p1 q22 r".matchAll(/\\w(\\d*)/g)) found.push(word.length * index); log.push(found.join()); return found.reduce((t, k) => t.add(k), ${e}); })()`,
  text`(() => { const total = 2n ** BigInt(Math.abs(Math.trunc(${n})) % 5 || 0); return ${e}.mul(Number(total)); })()`,
];
