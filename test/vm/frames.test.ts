import { describe, expect, it } from 'vitest';
import { userPosition } from '../../runtime/errors/position.ts';
import { isLowerRefusal, lowerFunction } from '../../src/2-lower/lower.ts';
import type { Closure, Frame, Scope } from '../../src/vm/bytecode/frame.ts';
import { activate } from '../../src/vm/frames/activation.ts';
import { executeFrame } from '../../src/vm/machine/machine.ts';
import {
  arrayIteratorAt,
  closureOf,
  instantiate,
  positionOf,
  runFrames,
  step,
} from '../../src/vm/machine/run-frames.ts';
import { findFunction, lowerChecked, sourceText } from '../lower/parse-function.ts';
import { run } from './run-frame.ts';

const scopeOf = (values: Record<string, unknown>): Scope => ({
  get: (name) => values[name],
  has: (name) => name in values,
  set: (name, value) => {
    values[name] = value;
  },
  reader: (name) => () => values[name],
  isConstant: () => false,
});

const closure = (text: string, values: Record<string, unknown> = {}): Closure => ({
  code: lowerChecked(text),
  scope: scopeOf(values),
  cells: [],
});

describe('frames', () => {
  it('step one instruction at a time', () => {
    const frame = activate(closure('(x) => x + 1'), undefined, [41]);
    const seen: number[] = [];
    for (;;) {
      seen.push(frame.pc);
      const result = step(frame);
      if (result.kind === 'return') {
        expect(result.value).toBe(42);
        break;
      }
    }
    expect(seen).toEqual([0, 1, 2, 3]);
  });

  it('of inner functions are pushed when the hook asks for it', () => {
    const outer = closure('(n) => { const f = (k) => (k > 0 ? k + f(k - 1) : 0); return f(n); }');
    const frames = [activate(outer, undefined, [3])];
    let depth = 0;
    const returned: unknown[] = [];
    const value = runFrames(frames, {
      enterCall(callee, thisValue, args) {
        const entered = closureOf(callee);
        return entered && { closure: entered, thisValue, args };
      },
      afterInstruction() {
        depth = Math.max(depth, frames.length);
      },
      onReturn: (_frame, result) => returned.push(result),
    });
    expect([value, depth, returned]).toEqual([6, 5, [0, 1, 3, 6, 6]]);
    expect(frames).toEqual([]);
  });

  it('hooks see each instruction once, a call after its return', () => {
    const seen: string[] = [];
    runFrames([activate(closure('(f) => f(1)'), undefined, [(x: number) => x])], {
      afterInstruction: (_frame, pc, { op }) => seen.push(`${pc} ${op}`),
    });
    expect(seen).toEqual(['0 arg', '1 const', '2 call']);
  });

  it('tell the user position of the innermost instruction', () => {
    const outer = closure('(f) => {\n  const inner = () => f();\n  return inner();\n}');
    const enterCall = (callee: unknown, thisValue: unknown, args: readonly unknown[]) => {
      const entered = closureOf(callee);
      return entered && { closure: entered, thisValue, args };
    };
    const place = { file: 'example.js', line: 2, column: 23 };
    expect(runFrames([activate(outer, undefined, [userPosition])], { enterCall })).toEqual(place);
    // A function that runs as it is has a place of its own.
    const native = () => userPosition();
    expect(runFrames([activate(outer, undefined, [native])], { enterCall })).toMatchObject({
      file: import.meta.filename,
    });
  });

  it('stay as they were after a throw', () => {
    const frames = [activate(closure('(o) => 1 + o.x.y'), undefined, [{}])];
    expect(() => runFrames(frames)).toThrow("Cannot read properties of undefined (reading 'y')");
    expect(positionOf(frames)).toEqual({ file: 'example.js', line: 1, column: 16 });
  });

  it('catch what frames above them throw', () => {
    const outer = closure(
      '(f) => { let r = 1; const g = (k) => { for (const x of [k]) { if (k) g(k - 1); else f(); } }; try { r = g(2); } catch (e) { return [r, e]; } finally { r = 0; } }',
    );
    const unwound: number[] = [];
    const fail = () => {
      throw 'deep';
    };
    const frames = [activate(outer, undefined, [fail])];
    const value = runFrames(frames, {
      enterCall(callee, thisValue, args) {
        const entered = closureOf(callee);
        return entered && { closure: entered, thisValue, args };
      },
      onUnwind: (frame) => unwound.push(frame.args[0] as number),
    });
    expect([value, unwound]).toEqual([
      [1, 'deep'],
      [0, 1, 2],
    ]);
  });

  it('step to the handler of what an instruction throws', () => {
    const frame = activate(closure('(f) => { try { f(); } catch (e) { return e; } }'), undefined, [
      () => {
        throw 5;
      },
    ]);
    const kinds: string[] = [];
    for (;;) {
      const result = step(frame);
      kinds.push(result.kind);
      if (result.kind === 'return') break;
    }
    expect(kinds).toEqual(['next', 'caught', 'next', 'return']);
  });

  it('in the machine keep the place of the call that runs', () => {
    const calls: Frame = activate(closure('(f) => { f(1);\nf(2); }'), undefined, [
      () => places.push(positionOf([calls])!.line),
    ]);
    const places: number[] = [];
    executeFrame(calls);
    expect(places).toEqual([1, 2]);
  });

  it('go on in the middle of an array', () => {
    const sum = closure('(xs) => { let s = 0; for (const x of xs) s += x; return s; }');
    const frame = activate(sum, undefined, [[1, 2, 3]]);
    while (frame.closure.code.instructions[frame.pc]!.op !== 'iteratorNext') step(frame);
    const next = frame.closure.code.instructions[frame.pc]!;
    if (next.op === 'iteratorNext')
      frame.registers[next.iterator] = arrayIteratorAt([10, 20, 30], 1);
    expect(executeFrame(frame)).toBe(50);
  });
});

describe('functions made from code', () => {
  it('close over cells, are called natively, and know their closure', () => {
    const { inner } = lowerChecked('() => { let n = 1; return (k) => (n += k); }');
    const cell = { value: 5 };
    const fn = instantiate(inner[0]!, scopeOf({}), [cell], undefined) as (k: number) => number;
    expect([fn(2), cell.value, fn.length, closureOf(fn)?.code]).toEqual([7, 7, 1, inner[0]]);
    expect(closureOf(() => 1)).toBeUndefined();
  });

  it('are arrows with the given this', () => {
    const { inner } = lowerChecked('function () { return () => this; }');
    const self = {};
    const fn = instantiate(inner[0]!, scopeOf({}), [], self) as () => unknown;
    expect(fn.call({} as never)).toBe(self);
    expect(() => Reflect.construct(fn, [])).toThrow(TypeError);
  });

  it('follow super through the home object, also from arrows', () => {
    const text =
      '({ m(x, k = "m") { return [super.m(x), [1].map(() => super[k](2)), super[k = "n"]]; } })';
    const { node } = findFunction(text);
    const code = lowerFunction(node, sourceText(text), 'method', true);
    if (isLowerRefusal(code)) throw new Error(code.reason);
    const base = {
      m(this: { id: string }, x: number) {
        return this.id + x;
      },
      get n() {
        return `n of ${(this as unknown as { id: string }).id}`;
      },
    };
    const homeObject = Object.create(base) as object;
    const self = Object.assign(Object.create(homeObject) as object, { id: 'self' });
    const frame = () => activate({ code, scope: scopeOf({}), cells: [], homeObject }, self, [1]);
    const expected = ['self1', ['self2'], 'n of self'];
    expect(run(frame())).toEqual(expected);
    expect(executeFrame(frame())).toEqual(expected);
  });
});
