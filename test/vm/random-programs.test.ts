import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Frame } from '../../src/vm/bytecode/frame.ts';
import type { Pc } from '../../src/vm/bytecode/instructions.ts';
import type { Machine } from '../../src/vm/frames/machine.ts';
import { stopped } from '../../src/vm/frames/stopped.ts';
import { interpreterOf } from '../../src/vm/interpreter/interpret.ts';
import { compilePart, executeFrame, machineFor } from '../../src/vm/machine/machine.ts';
import { step } from '../../src/vm/machine/run-frames.ts';
import { bytecodeTurns, nativeTurns } from './async-world.ts';
import { drive, run } from './run-frame.ts';
import { bytecodeOutcome, nativeOutcome } from './world.ts';

const names = ['a', 'b', 'c', 'xs'] as const;
const name = fc.constantFrom(...names.slice(0, 3));

type Rule = (part: fc.Arbitrary<string>) => fc.Arbitrary<string>;

/** Expressions over three numbers and an array, with effects: writes, updates, logged calls. */
const expressions = (arrow: (body: string) => string, more: readonly Rule[]) =>
  fc.letrec<{ expression: string }>((tie) => ({
    expression: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      name,
      fc.integer({ min: -3, max: 9 }).map(String),
      fc.constantFrom('xs.length', 'xs[0]', 'xs[a & 3]', 'undefined', 'null', '"s"', '2n'),
      fc
        .tuple(
          tie('expression'),
          fc.constantFrom('+', '-', '*', '<', '===', '%', '|'),
          tie('expression'),
        )
        .map(([l, op, r]) => `(${l} ${op} ${r})`),
      fc
        .tuple(tie('expression'), fc.constantFrom('&&', '||', '??'), tie('expression'))
        .map(([l, op, r]) => `(${l} ${op} ${r})`),
      fc
        .tuple(tie('expression'), tie('expression'), tie('expression'))
        .map(([c, t, e]) => `(${c} ? ${t} : ${e})`),
      fc
        .tuple(name, fc.constantFrom('=', '+=', '-=', '??=', '&&='), tie('expression'))
        .map(([n, op, e]) => `(${n} ${op} ${e})`),
      fc.tuple(name, fc.constantFrom('++', '--')).map(([n, op]) => `${n}${op}`),
      fc.tuple(name, fc.constantFrom('++', '--')).map(([n, op]) => `(${op}${n})`),
      tie('expression').map((e) => `t(${e})`),
      tie('expression').map((e) => `(typeof ${e})`),
      tie('expression').map((e) => `[${e}, ...xs].length`),
      fc.tuple(name, tie('expression')).map(([n, e]) => arrow(`${n} = ${e}`)),
      fc.tuple(tie('expression'), tie('expression')).map(([x, y]) => `o?.[${x}]?.(${y})`),
      ...more.map((rule) => rule(tie('expression'))),
    ),
  })).expression;

const statements = (expression: fc.Arbitrary<string>) =>
  fc.letrec<{ statement: string; body: string }>((tie) => ({
    body: fc.array(tie('statement'), { maxLength: 3 }).map((list) => `{ ${list.join(' ')} }`),
    statement: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      expression.map((e) => `${e};`),
      fc.tuple(name, expression).map(([n, e]) => `${n} = ${e};`),
      expression.map((e) => `t(${e});`),
      fc.tuple(expression, tie('body'), tie('body')).map(([c, t, e]) => `if (${c}) ${t} else ${e}`),
      fc
        .tuple(fc.integer({ min: 0, max: 3 }), tie('body'))
        .map(([n, b]) => `for (let i = 0; i < ${n}; i++) { t(i); fs.push(() => i++); ${b} }`),
      tie('body').map((b) => `for (const x of [...xs]) { a = x; ${b} if (a > 5) continue; t(x); }`),
      tie('body').map((b) => `{ let n = 3; do { ${b} } while (n-- > 0 && a); }`),
      fc
        .tuple(expression, tie('body'), tie('body'))
        .map(([e, x, y]) => `switch (${e}) { case 1: ${x} case b: ${y} break; default: t("d"); }`),
      fc.tuple(name, name, expression).map(([x, y, e]) => `[${x}, ${y} = ${e}] = [${y}, ...xs];`),
      fc.tuple(name, expression).map(([n, e]) => `{ let ${n} = ${e}, f = () => ${n}; t(f()); }`),
      expression.map((e) => `if (${e}) throw t(a);`),
      fc
        .tuple(name, tie('body'), tie('body'))
        .map(([n, b, c]) => `try ${b} catch (e) { t(${n}); ${n} = typeof e; ${c} }`),
      fc.tuple(tie('body'), tie('body')).map(([b, f]) => `try ${b} finally ${f}`),
      fc
        .tuple(tie('body'), tie('body'), tie('body'))
        .map(([b, c, f]) => `try ${b} catch ({ length: b = 1 }) ${c} finally ${f}`),
      fc
        .tuple(name, tie('body'), fc.constantFrom('break', 'continue', 'return', 'throw'))
        .map(([n, b, go]) => {
          const leave = go === 'return' || go === 'throw' ? `${go} t(a)` : go;
          return `for (const x of [1, 2]) { try { ${n} = x; ${b} ${leave}; } finally ${b} }`;
        }),
      expression.map((e) => `if (t(${e})) return b;`),
      fc.constantFrom(
        'if (xs.length < 6) xs.push(a);',
        'xs.length = 0;',
        'fs.forEach((f) => t(f()));',
      ),
      fc.constantFrom(
        'l: { if (a) break l; b = 1; }',
        '{ const { length: c, 0: d = a } = xs; t(d); }',
      ),
    ),
  })).statement;

const env = `
  const t = (x) => { if (log.length < 60) log.push(x); return x; };
  const o = { 1: (x) => t(x), 2: null, s: t };`;

/** Runs machines of parts that stop at some of the instructions, and these one by one. */
function runInParts(frame: Frame, choice: number): unknown {
  const { code } = frame.closure;
  const parts = new Map<Pc, Machine>();
  const partAt = (entry: Pc): Machine => {
    const stops = [...code.instructions.keys()].filter(
      (pc) => pc !== entry && (pc * 7 + choice) % 11 < choice % 4,
    );
    const part = parts.get(entry) ?? compilePart(code, entry, new Set(stops))!;
    parts.set(entry, part);
    return part;
  };
  for (;;) {
    const value = partAt(frame.pc)(frame);
    if (value !== stopped) return value;
    const result = step(frame);
    if (result.kind === 'return') return result.value;
  }
}

describe('random programs', () => {
  it('do as bytecode what they do natively, also when suspended', () => {
    const program = fc.array(statements(expressions((body) => `(() => (${body}))()`, [])), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(program, fc.nat({ max: 200 }), (lines, steps) => {
        const fn = `(a, b, c, xs) => { const fs = []; ${lines.join('\n')} return [a, b, c, xs]; }`;
        const example = { name: 'random', fn, env, calls: ['1, 2, 3, [4, 5]', '0, "x", null, []'] };
        const expected = nativeOutcome(example);
        expect(bytecodeOutcome(example, run)).toBe(expected);
        expect(bytecodeOutcome(example, executeFrame)).toBe(expected);
        const suspended = bytecodeOutcome(example, (frame) => {
          for (let i = 0; i < steps; i++) {
            const result = step(frame);
            if (result.kind === 'return') return result.value;
          }
          return executeFrame(frame);
        });
        expect(suspended).toBe(expected);
        // A machine for each part takes long to compile.
        if (steps % 5 > 0) return;
        expect(bytecodeOutcome(example, (frame) => runInParts(frame, steps))).toBe(expected);
      }),
      { numRuns: 300 },
    );
  });

  it('await in the turns that they take natively', async () => {
    const awaits: Rule[] = [
      (part) => part.map((e) => `(await ${e})`),
      (part) => part.map((e) => `(await later(${e}))`),
      (part) => part.map((e) => `(await fails(${e}))`),
    ];
    const expression = expressions((body) => `(await (async () => (${body}))())`, awaits);
    const program = fc.array(statements(expression), { minLength: 1, maxLength: 5 });
    const asyncEnv = `${env}
      const later = async (x) => { await null; return t(x); };
      const fails = async (x) => { await null; if (x) throw t(x); };`;
    const property = fc.asyncProperty(program, async (lines) => {
      const fn = `async (a, b, c, xs) => { const fs = []; ${lines.join('\n')} return [a, b, c, xs]; }`;
      const calls = ['1, 2, 3, [4, 5]', '0, "x", null, []'];
      const example = { name: 'random', fn, env: asyncEnv, calls };
      const expected = await nativeTurns(example);
      expect(await bytecodeTurns(example, (frame) => drive(frame, executeFrame))).toBe(expected);
      const interpreted = (frame: Frame) =>
        drive(frame, (each) => interpreterOf(each.closure.code, machineFor)(each));
      expect(await bytecodeTurns(example, interpreted)).toBe(expected);
    });
    await fc.assert(property, { numRuns: 60 });
  });
});
