// biome-ignore-all lint/suspicious/noTemplateCurlyInString: forms are source text
import type { Forms } from './parts.ts';

/** What the programs create before their first statement: objects of every kind, which statements change. */
export const madeState = String.raw`
    const made = { t: x, n: 1, list: [1, 2], [Symbol.for("s")]: 0, get twice() { return this.n * 2; }, set twice(v) { this.n = v / 2; } };
    const floats = new Float32Array([1, 2, 3]), bytes = floats.subarray(1), pattern = /\w/g, date = new Date(0), query = new URLSearchParams("a=1");
    const weak = new WeakMap([[made, 1]]), entries = new Map([["a", 1], ["b", 2]]), members = new Set(["a"]), walking = entries.keys();
    const counting = (function* () { let i = 0; for (;;) { const by = yield ++i; i += by ?? 0; } })();
    class Cell { static all = 0; #v = 1; t = x; get v() { return this.#v; } add(by) { this.#v += by; Cell.all++; return this; } }
    const cell = new Cell(), cells = [cell, new Cell()], words = ["b", "a", "c"], bound = Cell.prototype.add.bind(cell);`;

/** Everything that can be told of it at the end. */
export const madeStateSeen =
  'log.push(JSON.stringify({ ...made, t: 0, self: 0 }), Object.keys(made).join(), Object.isFrozen(made), made[Symbol.for("s")], floats.join(), pattern.lastIndex, date.getTime(), String(query), weak.get(made), [...entries].join(), [...members].join(), counting.next().value, Cell.all, cell.v, cells.length, words.join());';

/** Changes of it, which `if`, loops and exceptions around them make conditional. */
export const madeStateForms: Forms = (text, { e, n, c, s }) => [
  text`made.n = ${n};`,
  text`made.twice += ${n};`,
  text`made.t = ${e}; t0 = made.t.mul(made.n);`,
  text`made[Symbol.for("s")]++;`,
  text`made.list.push(${n}); made.list.sort();`,
  text`made.list.length = 1;`,
  text`made[${c} ? "x" : "y"] = ${n};`,
  text`delete made.x;`,
  text`Object.defineProperty(made, "hidden", { value: ${n}, configurable: true });`,
  text`try { Object.freeze(made.list); made.list.push(${n}); } catch (error) { log.push(error.name); }`,
  text`try { Object.seal(made); made.late = 1; } catch (error) { log.push(error.name); }`,
  text`floats[${n} & 3] = ${n};`,
  text`bytes[0] += ${n}; floats.sort();`,
  text`floats.fill(${n}, 1);`,
  text`t0 = t0.add(tensor([...floats], { shape: [1, 3] }));`,
  text`log.push(pattern.exec("a b")?.index, pattern.test("ab"));`,
  text`date.setUTCDate(3); date.setTime(date.getTime() + 1);`,
  text`query.append("k", ${n}); query.sort();`,
  text`weak.set(made, ${n}); weak.delete(cell);`,
  text`entries.set("k" + (${n} & 1), ${n}); entries.delete("a");`,
  text`for (const [key, value] of entries) { if (value === ${n}) entries.delete(key); m0 += key.length; }`,
  text`members.add(String(${c})); if (members.size > 2) members.clear();`,
  text`m0 += counting.next(${n}).value;`,
  text`log.push(walking.next().value);`,
  text`cell.add(${n} & 3).add(1); m0 = cell.v;`,
  text`cells[${c} ? 0 : 1].add(1); t1 = cells[0].t;`,
  text`cells[0] = cells[1]; cell.t = ${e};`,
  text`cells.push(new Cell().add(${n} & 1));`,
  text`bound(1); words.reverse(); words[${n} & 3] ??= "z";`,
  text`[made.n, made.list[0]] = [made.list[0], made.n];`,
  text`made.self = made; t0 = made.self.self.t;`,
  text`const_3: for (const word of words) { if (word === "c") break const_3; made[word] = words.length; ${s} }`,
  text`Object.assign(made, { n: ${n}, w: [${n}] });`,
  text`words.splice(1, 1, "p", "q"); if (words.length > 5) words.length = 2;`,
  text`t1 = (${c} ? made : { t: ${e} }).t;`,
];
