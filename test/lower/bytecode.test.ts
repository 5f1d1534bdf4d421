// biome-ignore-all lint/suspicious/noTemplateCurlyInString: examples are source text
import { describe, expect, it } from 'vitest';
import type { Code } from '../../src/bytecode/code.ts';
import { effects, reads, writes } from '../../src/bytecode/effects.ts';
import { type Instruction, reg } from '../../src/bytecode/instructions.ts';
import { dyingBetween, liveAfter, liveBefore, liveDuring } from '../../src/bytecode/liveness.ts';
import { printInstruction } from '../../src/bytecode/print.ts';
import { verify } from '../../src/bytecode/verify.ts';
import { lowerChecked } from './parse-function.ts';

const names = (code: Code, live: Iterable<number>): string[] =>
  [...live].flatMap((register) => code.registerNames[register] ?? []);

const find = (code: Code, op: Instruction['op'], nth = 0): number =>
  [...code.instructions.keys()].filter((pc) => code.instructions[pc]!.op === op)[nth]!;

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

  it('inner code that gets too few cells, naming the instruction', () => {
    const pc = find(code, 'closure');
    const closure = code.instructions[pc]!;
    expect(() => verify(replaced(pc, { ...closure, cells: [] } as Instruction))).toThrow(
      new RegExp(`, ${pc} \\(${printInstruction(closure).split('=')[0]}= closure`),
    );
  });
});
