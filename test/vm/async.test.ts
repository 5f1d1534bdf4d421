// biome-ignore-all lint/suspicious/noTemplateCurlyInString: examples are source text
import { describe, expect, it } from 'vitest';
import type { Frame } from '../../src/vm/bytecode/frame.ts';
import { resumeWith } from '../../src/vm/frames/async-frame.ts';
import { catchIn } from '../../src/vm/frames/unwind.ts';
import { interpreterOf } from '../../src/vm/interpreter/interpret.ts';
import { executeFrame, machineFor } from '../../src/vm/machine/machine.ts';
import { step } from '../../src/vm/machine/run-frames.ts';
import { lowerChecked } from '../lower/parse-function.ts';
import { bytecodeTurns, nativeTurns } from './async-world.ts';
import { drive } from './run-frame.ts';
import type { Example } from './world.ts';

const env = `
  const t = (x) => { log.push(x); return x; };
  const later = async (x) => { t('later'); await null; await null; return t(x); };
  const fails = async (x) => { await null; throw new Error(x); };
  const thenable = (x) => ({ then(done) { t('then'); done(x); } });`;

const examples: readonly Omit<Example, 'env'>[] = [
  { name: 'no await', fn: 'async (x) => x + 1', calls: ['1'] },
  { name: 'throws at once', fn: 'async (x) => x.y.z', calls: ['{}'] },
  { name: 'parameter throws', fn: 'async (x = t.u.v) => x' },
  {
    name: 'await of values',
    fn: 'async (x) => { t("a"); const y = await x; t("b"); return [y, await (y + 1)]; }',
    calls: ['1', 'Promise.resolve(2)', 'thenable(3)', 'later(4)'],
  },
  {
    name: 'await in expressions',
    fn: 'async (x) => [x, await later(x = 2), x, `${await x}${(await later(3)) * 2}`, x++ + (await x)]',
    calls: ['1'],
  },
  {
    name: 'arguments are kept',
    fn: 'async (f, x) => f(x, await later(2), x = 3, (await later(f))(x))',
    calls: ['(...xs) => xs, 1'],
  },
  {
    name: 'return of a promise',
    fn: 'async (x) => x',
    calls: ['later(1)', 'fails("f")', 'thenable(2)'],
  },
  {
    name: 'return await',
    fn: 'async () => { try { return await fails("f"); } catch (e) { return e.message; } }',
  },
  {
    name: 'return without await is not caught',
    fn: 'async () => { try { return fails("f"); } catch (e) { return t("no"); } }',
  },
  { name: 'rejection', fn: 'async () => { await fails("f"); t("no"); }' },
  {
    name: 'finally',
    fn: 'async (x) => { try { if (x) throw await later(x); return await later("r"); } catch (e) { t(["caught", e]); throw await later("again"); } finally { t("f"); await later("g"); } }',
    calls: ['0', '1'],
  },
  {
    name: 'loops',
    fn: 'async (xs) => { let s = 0; for (const x of xs) { if ((await later(x)) === 2) continue; s += x; if (s > 5) break; } for (let i = 0; i < 3; i++) s += await i; while (s % 7) s += await 1; return s; }',
    calls: ['[1, 2, 3, 4, 5]', '[]'],
  },
  {
    name: 'loop variables captured across awaits',
    fn: 'async () => { const fs = []; for (let i = 0; i < 3; i++) { await null; fs.push(() => i++); } fs[0](); return fs.map((f) => f()); }',
  },
  {
    name: 'iterators are closed by rejections',
    fn: 'async () => { for (const x of spy()) await fails(x); }',
  },
  {
    name: 'iterators stay open over awaits',
    fn: 'async () => { let s = 0; for (const x of spy()) { s += await later(x); if (s > 2) break; } return s; }',
  },
  {
    name: 'for in over awaits',
    fn: 'async (o) => { const names = []; for (const k in o) { names.push(await k); delete o.b; } return names; }',
    calls: ['{ a: 1, b: 2, c: 3 }'],
  },
  {
    name: 'destructuring',
    fn: 'async (p) => { const { a, b = await later(5), ...rest } = await p; const [c, d = await b] = [a]; return [a, b, c, d, rest]; }',
    calls: ['later({ a: 1, z: 2 })'],
  },
  {
    name: 'inner async functions',
    fn: 'async (xs) => { const out = await Promise.all(xs.map(async (x) => { t(["in", x]); const y = await later(x); return y * (await 2); })); return out; }',
    calls: ['[1, 2, 3]'],
  },
  {
    name: 'concurrent calls of one inner function',
    fn: 'async () => { let n = 0; const f = async (k) => { for (let i = 0; i < 3; i++) { t([k, i, n++]); await null; } return k; }; return [await Promise.all([f("a"), f("b")]), n]; }',
  },
  {
    name: 'inner async in synchronous code',
    fn: '(x) => { const f = async function (y) { return (await y) + this.n; }; return f.call({ n: x }, later(1)); }',
    calls: ['5'],
  },
  {
    name: 'async methods and arrows keep this',
    fn: 'async function (x) { const o = { n: 3, async m(y) { return this.n + (await y); } }; const f = async () => [this.n, await x]; return [await o.m(x), await f()]; }',
    self: '({ n: 1 })',
    calls: ['2'],
  },
  {
    name: 'shape of async functions',
    fn: '() => { const f = async function named(a, b) {}; const g = async () => {}; const o = { async m() {} }; return [f, g, o.m].map((h) => [h.name, h.length, "prototype" in h, Object.prototype.toString.call(h), Object.getPrototypeOf(h) === Object.getPrototypeOf(async () => {}), (() => { try { new h(); } catch (e) { return e.name; } })()]); }',
  },
  {
    name: 'conditional await',
    fn: 'async (c, x) => { const y = c ? await later(x) : x; return y || (await later("or")); }',
    calls: ['1, 2', '0, 2', '0, 0'],
  },
  {
    name: 'compound assignment reads before the await',
    fn: 'async () => { let n = 1; const inc = async () => { n += await later(10); }; const p = inc(); n = 5; await p; return n; }',
  },
  {
    name: 'assignment in try keeps the variable',
    fn: 'async () => { let x = 1; try { x = await fails("f"); } catch { } return x; }',
  },
  {
    name: 'never again after a rejection',
    fn: 'async () => { const seen = []; for (let i = 0; i < 3; i++) { try { seen.push(await (i % 2 ? fails(i) : later(i))); } catch (e) { seen.push(e.message); continue; } finally { seen.push("f"); } } return seen; }',
  },
];

const spy = `const spy = () => { let i = 0; return { [Symbol.iterator]() { return this; }, next() { return i < 3 ? { value: ++i, done: false } : { value: undefined, done: true }; }, return() { t('return'); return {}; } }; };`;

/** Interprets `steps` instructions, awaits included, then goes on in the machine. */
async function switchAfter(frame: Frame, steps: number, seen: { finished: boolean }) {
  for (let i = 0; i < steps; i++) {
    const result = step(frame);
    if (result.kind === 'return') return result.value;
    if (result.kind !== 'await') continue;
    let value: unknown;
    try {
      value = await result.value;
    } catch (error) {
      if (!catchIn(frame, frame.pc, error)) throw error;
      continue;
    }
    resumeWith(frame, value);
  }
  seen.finished = false;
  return drive(frame, executeFrame);
}

describe('async functions', () => {
  for (const each of examples) {
    const example: Example = { ...each, env: env + spy };
    const { isAsync } = lowerChecked(example.fn);
    it(example.name, async () => {
      const expected = await nativeTurns(example);
      const run = (frame: Frame) => (isAsync ? drive(frame, executeFrame) : executeFrame(frame));
      expect(await bytecodeTurns(example, run), 'machine').toBe(expected);
      if (!isAsync) return;
      const interpreted = (frame: Frame) =>
        drive(frame, (each) => interpreterOf(each.closure.code, machineFor)(each));
      expect(await bytecodeTurns(example, interpreted), 'interpreter').toBe(expected);
      const results = (outcome: string): string => outcome.replaceAll(/^'turn \d+'\n?/gm, '');
      for (let steps = 1; ; steps++) {
        const seen = { finished: true };
        const outcome = await bytecodeTurns(example, (frame) => switchAfter(frame, steps, seen));
        // Going over to the machine takes turns of its own.
        expect(results(outcome), `machine after ${steps} instructions`).toBe(results(expected));
        if (seen.finished || steps > 200) break;
      }
    });
  }
});
