// biome-ignore-all lint/suspicious/noTemplateCurlyInString: examples are source text
import { describe, expect, it } from 'vitest';
import type { Code } from '../../src/vm/bytecode/code.ts';
import { effects, reads, writes } from '../../src/vm/bytecode/effects.ts';
import { type Instruction, reg } from '../../src/vm/bytecode/instructions.ts';
import { dyingBetween, liveBefore, liveDuring } from '../../src/vm/bytecode/liveness.ts';
import { printCode, printInstruction } from '../../src/vm/bytecode/print.ts';
import { verify } from '../../src/vm/bytecode/verify.ts';
import { lowerChecked } from '../lower/parse-function.ts';

const names = (code: Code, live: Iterable<number>): string[] =>
  [...live].flatMap((register) => code.registerNames[register] ?? []);

const find = (code: Code, op: Instruction['op'], nth = 0): number =>
  [...code.instructions.keys()].filter((pc) => code.instructions[pc]!.op === op)[nth]!;

/** After a call that the next instruction follows. */
const liveAfter = (code: Code, call: number) => liveBefore(code)[call + 1]!;

describe('liveness', () => {
  it('keeps what is read later and nothing else', () => {
    const code = lowerChecked('(a, b, c) => { const d = f(a); const e = g(d, b); return e; }');
    const call = find(code, 'call');
    expect(names(code, liveBefore(code)[call]!)).toEqual(['a', 'b']);
    expect(names(code, liveAfter(code, call))).toEqual(['b', 'd']);
    expect(names(code, liveAfter(code, find(code, 'call', 1)))).toEqual(['e']);
  });

  it('goes round loops', () => {
    const code = lowerChecked('(n) => { let s = 0; while (n > 0) { s = f(s); n--; } return s; }');
    expect(names(code, liveAfter(code, find(code, 'call')))).toEqual(['n', 's']);
  });

  it('kills a variable that is assigned before it is read', () => {
    const code = lowerChecked('(x) => { f(x); x = g(); return x; }');
    expect(names(code, liveAfter(code, find(code, 'call')))).toEqual([]);
  });

  it('names what dies on a branch that nobody reads it on', () => {
    const code = lowerChecked('(x, y, c) => { if (c) return x; return y; }');
    const branch = find(code, 'jumpIfNot');
    const instruction = code.instructions[branch]!;
    const target = instruction.op === 'jumpIfNot' ? instruction.target : 0;
    expect(names(code, dyingBetween(code, branch, branch + 1))).toEqual(['y', 'c']);
    expect(names(code, dyingBetween(code, branch, target))).toEqual(['x', 'c']);
    expect(names(code, dyingBetween(code, find(code, 'return'), undefined))).toEqual(['x']);
  });

  it('keeps an open iterator for the throw that closes it', () => {
    const code = lowerChecked('(xs) => { for (const x of xs) { f(x); throw x; } }');
    const getIterator = code.instructions[find(code, 'getIterator')]!;
    const iterator = writes(getIterator)!;
    expect(liveBefore(code)[find(code, 'call')]!.has(iterator)).toBe(true);
    expect(liveBefore(code)[find(code, 'throw')]!.has(iterator)).toBe(true);
  });

  it('does not keep an iterator after its loop', () => {
    const code = lowerChecked('(xs) => { for (const x of xs) { if (x) break; } return f(); }');
    expect([...liveBefore(code)[find(code, 'call')]!]).toHaveLength(1);
  });

  it('keeps what the handler of a throw reads', () => {
    const code = lowerChecked('(x, y) => { try { x = f(y); } catch { return [x, y]; } return x; }');
    const call = find(code, 'call');
    expect(names(code, liveBefore(code)[call]!)).toEqual(['x', 'y']);
    expect(names(code, liveBefore(code)[call + 1]!)).toEqual(['x']);
    expect(names(code, liveDuring(code, call))).toEqual(['x', 'y']);
    expect(names(code, liveAfter(code, call))).toEqual(['x']);
  });

  it('closes iterators of a try before its handler, not those around it', () => {
    const code = lowerChecked(
      '(xs) => { for (const x of xs) { try { for (const y of x) f(y); } catch { g(); } } }',
    );
    const [outer, inner] = [0, 1].map(
      (n) => writes(code.instructions[find(code, 'getIterator', n)]!)!,
    );
    const [f, g] = [0, 1].map((n) => liveBefore(code)[find(code, 'call', n)]!);
    expect([f!.has(outer!), f!.has(inner!)]).toEqual([true, true]);
    expect([g!.has(outer!), g!.has(inner!)]).toEqual([true, false]);
  });

  it('keeps what iteratorNext leaves alone at the end', () => {
    const code = lowerChecked('(xs, x) => { for (x of xs); return x; }');
    expect(names(code, liveBefore(code)[find(code, 'iteratorNext')]!)).toContain('x');
  });
});

describe('effects', () => {
  it('list reads in order and the written register', () => {
    const call: Instruction = {
      op: 'call',
      dst: reg(0),
      callee: reg(1),
      receiver: reg(2),
      args: [reg(3), reg(4)],
    };
    expect(reads(call)).toEqual([1, 2, 3, 4]);
    expect(reads({ ...call, receiver: null })).toEqual([1, 3, 4]);
    expect(writes(call)).toBe(0);
    expect(reads({ op: 'storeCell', cell: reg(1), src: reg(2), name: 'x' })).toEqual([2, 1]);
  });

  it('say that instructions with a result have a dst', () => {
    const code = lowerChecked('(a) => { const [b] = a; return () => ({ b, ...a, c: `${a}` }); }');
    for (const instruction of code.instructions) {
      expect('dst' in instruction).toBe(effects[instruction.op].result !== undefined);
    }
  });
});

describe('the verifier finds', () => {
  const code = lowerChecked('(a) => { let b; if (a) b = () => a; return b; }');
  const broken = (change: Partial<Code>): Code => ({ ...code, ...change });
  const replaced = (pc: number, instruction: Instruction): Code =>
    broken({ instructions: code.instructions.with(pc, instruction) });
  const last = code.instructions.length - 1;

  it('a register that is not written on all ways', () => {
    const [first, ...rest] = lowerChecked('(x) => f(x)').instructions;
    const instructions = [{ op: 'jump', target: 1 } as const, ...rest];
    expect(first).toMatchObject({ op: 'arg' });
    expect(() => verify({ ...lowerChecked('(x) => f(x)'), instructions })).toThrow(/holds nothing/);
  });

  it('a jump out of range', () => {
    const jump = find(code, 'jumpIfNot');
    const test = reads(code.instructions[jump]!)[0]!;
    const instruction: Instruction = { op: 'jumpIfNot', test, target: 99 };
    expect(() => verify(replaced(jump, instruction))).toThrow(/jumps to 99/);
  });

  it('an end without a return', () => {
    const instruction: Instruction = { op: 'const', dst: reg(0), value: 1 };
    expect(() => verify(replaced(last, instruction))).toThrow(/falls off the end/);
  });

  it('a cell used as a value, and a value used as a cell', () => {
    const cell = writes(code.instructions[find(code, 'newCell')]!)!;
    expect(() => verify(replaced(last, { op: 'return', src: cell }))).toThrow(
      /should hold a value/,
    );
    const load: Instruction = { op: 'loadCell', dst: reg(0), cell: reg(1), name: 'b' };
    expect(() => verify(replaced(find(code, 'const'), load))).toThrow(/should hold a cell/);
  });

  it('a register that a throw may leave unwritten', () => {
    const caught = lowerChecked('(x) => { try { x = f(); } catch { return x; } }');
    const [region] = caught.regions;
    const regions = [{ ...region!, start: 0 }];
    const instructions = caught.instructions.with(0, { op: 'loadFree', dst: reg(0), name: 'x' });
    expect(() => verify({ ...caught, instructions, regions })).toThrow(/r0 should hold a value/);
  });

  it('regions in disorder', () => {
    const caught = lowerChecked('(x) => { try { f(); } catch { return x; } }');
    const regions = [...caught.regions, ...caught.regions];
    expect(() => verify({ ...caught, regions })).toThrow(/protected up to/);
  });

  it('a protected region that ends, or is caught, outside of the code', () => {
    const caught = lowerChecked('(x) => { try { f(); } catch { return x; } }');
    const [region] = caught.regions;
    const withRegion = (change: object) => ({ ...caught, regions: [{ ...region!, ...change }] });
    expect(() => verify(withRegion({ end: 99 }))).toThrow(/protected up to 99/);
    expect(() => verify(withRegion({ end: region!.start }))).toThrow(/protected up to/);
    expect(() => verify(withRegion({ target: 99 }))).toThrow(/is caught at 99/);
    expect(() => verify(withRegion({ error: 99 }))).toThrow(/r99 does not exist/);
  });

  it('regions of nested handlers that overlap', () => {
    const nested = lowerChecked(
      '(x) => { try { try { f(); } catch { g(); } } catch { return x; } }',
    );
    const [first, ...others] = nested.regions;
    const regions = [{ ...first!, end: first!.end + 1 }, ...others];
    expect(() => verify({ ...nested, regions })).toThrow(/protected up to/);
  });

  it('an iterator that is a value, and a value that is an iterator', () => {
    const loop = lowerChecked('(xs) => { for (const x of xs) f(x); }');
    const iterator = writes(loop.instructions[find(loop, 'getIterator')]!)!;
    const change = (pc: number, instruction: Instruction) => ({
      ...loop,
      instructions: loop.instructions.with(pc, instruction),
    });
    const call = find(loop, 'call');
    const passed = { ...loop.instructions[call], args: [iterator] } as Instruction;
    expect(() => verify(change(call, passed))).toThrow(/holds iterator/);
    const opened: Instruction = { op: 'const', dst: iterator, value: 1 };
    expect(() => verify(change(find(loop, 'getIterator'), opened))).toThrow(
      /should hold a iterator, but holds value/,
    );
  });

  it('a register that a resumed frame should carry and that holds nothing on one way', () => {
    const text = '(xs, c) => { if (c) { for (const x of xs) break; } return g(); }';
    const left = lowerChecked(text);
    const kept: Instruction = { op: 'const', dst: reg(left.registerCount), value: 1 };
    const instructions = left.instructions.with(find(left, 'iteratorClose'), kept);
    const registerNames = [...left.registerNames, undefined];
    const registerCount = left.registerCount + 1;
    // It may be open at g(), whose throw would close it; where there was no loop there is none.
    expect(() => verify({ ...left, instructions, registerNames, registerCount })).toThrow(
      /lives, but holds nothing/,
    );
  });

  it('instructions that nothing leads to, and a code without any', () => {
    const instruction: Instruction = { op: 'jump', target: last };
    expect(() => verify(replaced(find(code, 'jumpIfNot'), instruction))).toThrow(/is unreachable/);
    expect(() => verify(broken({ instructions: [], spans: [] }))).toThrow(/no instructions/);
  });

  it('registers, cells and operands that do not exist', () => {
    const pc = find(code, 'const');
    expect(() => verify(replaced(pc, { op: 'const', dst: reg(99), value: 1 }))).toThrow(
      /r99 does not exist/,
    );
    expect(() => verify(replaced(pc, { op: 'outerCell', dst: reg(0), index: 3 }))).toThrow(
      /no such outer cell/,
    );
    const few: Instruction = { op: 'intrinsic', dst: reg(0), name: 'assignToConstant', args: [] };
    expect(() => verify(replaced(pc, few))).toThrow(/number of operands/);
    expect(() => verify(broken({ spans: code.spans.slice(1) }))).toThrow(/spans/);
    expect(() => verify(broken({ registerCount: code.registerCount + 1 }))).toThrow(/names/);
  });

  it('what is wrong in an inner code', () => {
    const [inner] = code.inner;
    const instructions = inner!.instructions.slice(0, -1);
    const spans = inner!.spans.slice(0, -1);
    expect(() => verify(broken({ inner: [{ ...inner!, instructions, spans }] }))).toThrow(
      /falls off the end|no instructions/,
    );
  });

  it('inner code that gets too few cells, naming the instruction', () => {
    const pc = find(code, 'closure');
    const closure = code.instructions[pc]!;
    expect(() => verify(replaced(pc, { ...closure, cells: [] } as Instruction))).toThrow(
      new RegExp(`, ${pc} \\(${printInstruction(closure).split('=')[0]}= closure`),
    );
  });
});

describe('printed code', () => {
  const text = `(a, b) => {
  const { c = a } = b;
  return () => c + a;
}`;

  it('is the same for the same text, whatever was lowered before', () => {
    const first = printCode(lowerChecked(text), { live: true });
    lowerChecked('(x) => () => x');
    expect(printCode(lowerChecked(text), { live: true })).toBe(first);
  });

  it('says where each instruction stands: line, column, source', () => {
    const code = lowerChecked(text);
    const lines = printCode(code).split('\n');
    expect(lines.find((line) => line.includes('getProp'))).toMatch(/# 2:11 c = a$/);
    expect(lines.find((line) => line.includes('closure [0]'))).toMatch(/# 3:10 \(\) => c \+ a$/);
    expect(lines.filter((line) => /^ *\d+ {2}/.test(line))).toHaveLength(
      code.instructions.length + code.inner[0]!.instructions.length,
    );
  });
});
