import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { controlGraph } from '../../src/vm/bytecode/control-graph.ts';
import { activate } from '../../src/vm/frames/activation.ts';
import { literal } from '../../src/vm/machine/code-text.ts';
import { compile } from '../../src/vm/machine/machine.ts';
import { machineText } from '../../src/vm/machine/machine-text.ts';
import { resumePoints } from '../../src/vm/machine/resume-pcs.ts';
import { lowerChecked } from '../lower/parse-function.ts';
import { bytecodeOutcome, type Example, nativeOutcome } from './world.ts';

const scope = {
  get: (name: string) => (globalThis as Record<string, unknown>)[name],
  has: () => true,
  set: () => {},
  reader: (name: string) => () => (globalThis as Record<string, unknown>)[name],
  isConstant: () => false,
};

describe('the generated machine', () => {
  it('is nested loops', () => {
    const text = machineText(
      lowerChecked('(n) => { let s = 0; while (n--) s += n; return s; }'),
      [0],
    );
    expect(text).toContain('L2: for (;;)');
    expect(text).not.toContain('switch');
  });

  it('has a try of its own for one in the code, and no switch', () => {
    const fn = '(f) => { for (let i = 0; i < 9; i++) try { f(i); } catch (e) { if (e) break; } }';
    const text = machineText(lowerChecked(fn), [0]);
    expect(text).toContain('try {');
    expect(text).not.toContain('switch');
  });

  it('goes on inside nested loops and handlers without a switch around them', () => {
    const fn =
      'function* (xs) { for (const x of xs) try { while (yield x) yield 1; } finally { yield 2; } }';
    const code = lowerChecked(fn);
    const text = machineText(code, resumePoints(code));
    expect(text).toContain('for (;;)');
    expect(text).not.toContain('switch (pc)');
  });

  it('is a switch where an entry makes a loop with two entrances', () => {
    // Entered between the parts of the test, the loop is reached at its body and at its end.
    const fn =
      '(n, f) => { let s = 0; do { if (f(n) && f(s)) continue; s += n; while (f(s)) s++; } while (--n); return s; }';
    const code = lowerChecked(fn);
    const shapes = code.instructions.map((_, pc) => controlGraph(code, [pc]).isReducible);
    expect([shapes[0], shapes.includes(false)]).toEqual([true, true]);
    for (const [pc, reducible] of shapes.entries()) {
      expect(machineText(code, [pc]).includes('switch'), `entered at ${pc}`).toBe(!reducible);
    }
  });

  it('is a switch for very long functions', () => {
    const branches = Array.from({ length: 600 }, (_, i) => `if (x === ${i}) s += ${i};`).join('\n');
    const code = lowerChecked(`(x) => { let s = 0; ${branches} return s; }`);
    expect(machineText(code, [0])).toContain('switch');
    const frame = activate({ code, scope, cells: [] }, undefined, [599]);
    expect(compile(code, [0])(frame)).toBe(599);
  });

  it('contains constants whose values are those of the code', () => {
    const primitive = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.double(),
      fc.bigInt(),
      fc.boolean(),
      fc.constantFrom('`${`', '\u2028', '\ud800', -0, -1e21, 5e-324, null, undefined),
    );
    fc.assert(
      fc.property(primitive, (value) =>
        Object.is(new Function(`return ${literal(value)}`)(), value),
      ),
      { numRuns: 40 },
    );
  });

  it('does not repeat blocks that several ways lead to', () => {
    const names = Array.from({ length: 40 }, (_, i) => `v${i} = ${i}`).join(', ');
    const code = lowerChecked(`([${names}]) => v0`);
    expect(machineText(code, [0]).length).toBeLessThan(40_000);
  });

  it('reads only the registers that live at its entry', () => {
    const code = lowerChecked('(a, b) => { const c = f(a); return c + b; }');
    const call = code.instructions.findIndex(({ op }) => op === 'call');
    expect(machineText(code, [0])).not.toContain('F.registers');
    expect(machineText(code, [call + 1]).match(/F\.registers/g)).toHaveLength(2);
  });
});

describe('without code generation', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.resetModules();
  });

  it('functions run in the interpreter', async () => {
    const example: Example = {
      name: 'closures',
      fn: '(xs) => { let n = 0; const f = (x) => { n += x; return [...xs].map((y) => y * n); }; return xs.map(f); }',
      calls: ['[1, 2]'],
    };
    const expected = nativeOutcome(example);
    const { executeFrame } = await withoutCodeGeneration();
    expect(bytecodeOutcome(example, executeFrame)).toBe(expected);
  });

  it('keeps arguments that share their elements with the parameters', async () => {
    const example: Example = {
      name: 'mapped arguments',
      fn: `function (a, b, c) {
        const seen = [arguments.length, [...arguments], String(arguments)];
        a = 10; arguments[1] = 20; seen.push(arguments[0], b, c, Object.keys(arguments));
        arguments[2] = 30; seen.push(c, arguments[2], '2' in arguments);
        delete arguments[0]; a = 11; seen.push(arguments[0], 0 in arguments); arguments[0] = 12; seen.push(a);
        Object.defineProperty(arguments, 1, { writable: false }); b = 21; seen.push(arguments[1]);
        seen.push(Reflect.set(Object.create(arguments), 1, 5), b, Object.getOwnPropertyDescriptor(arguments, 1));
        arguments.length = 1; seen.push(arguments.length, Array.prototype.slice.call(arguments, 0, 1));
        return seen;
      }`,
      calls: ['1, 2', '', '1, 2, 3, 4'],
      sloppy: true,
    };
    const expected = nativeOutcome(example);
    const { executeFrame } = await withoutCodeGeneration();
    expect(bytecodeOutcome(example, executeFrame)).toBe(expected);
  });
});

/** The machine as a page with a strict content security policy loads it. */
async function withoutCodeGeneration(): Promise<typeof import('../../src/vm/machine/machine.ts')> {
  vi.resetModules();
  const RealFunction = Function;
  const forbidden = new Proxy(RealFunction, {
    construct(_target, args: string[]) {
      if (args.length > 1 || args[0] === '') throw new EvalError('unsafe-eval is forbidden');
      return new RealFunction(...args);
    },
  });
  vi.stubGlobal('Function', forbidden);
  return import('../../src/vm/machine/machine.ts');
}
