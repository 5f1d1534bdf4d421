import { invariant } from '../../runtime/errors/invariant.ts';
import type { Code } from './code.ts';
import {
  effectOf,
  handlerOf,
  jumpTarget,
  type RegisterKind,
  successors,
  writes,
} from './effects.ts';
import type { Instruction, Pc, Reg } from './instructions.ts';
import { intrinsics } from './intrinsics.ts';
import { printInstruction } from './print.ts';

/** What the registers hold before an instruction; undefined: nothing, or not the same on all ways. */
type Contents = readonly (RegisterKind | undefined)[];

/**
 * Checks a code and the codes inside it: registers and jumps in range, no way out at the end, every
 * register written before it is read on all ways, cells and iterators used as such, inner codes handed
 * the cells they ask for. Throws an invariant error that names the function and the instruction.
 */
export function verify(code: Code): void {
  const fail = (pc: Pc, problem: string): never => {
    const instruction = code.instructions[pc];
    const text = instruction ? printInstruction(instruction) : 'the end';
    invariant(false, `bytecode of ${code.name || '<anonymous>'}, ${pc} (${text}): ${problem}`);
  };
  const count = code.instructions.length;
  if (count === 0) fail(0, 'no instructions');
  if (code.spans.length !== count) fail(count, `${code.spans.length} spans`);
  if (code.registerNames.length !== code.registerCount) fail(0, 'names and registers differ');
  for (const [pc, instruction] of code.instructions.entries()) {
    const { flow } = effectOf(instruction);
    const target = jumpTarget(instruction);
    if (target !== undefined && !(Number.isInteger(target) && target >= 0 && target < count)) {
      fail(pc, `jumps to ${target}`);
    }
    if (pc === count - 1 && (flow === 'next' || flow === 'branch')) fail(pc, 'falls off the end');
    if (instruction.op === 'closure' || instruction.op === 'class') {
      const inner = code.inner[instruction.code];
      if (inner?.outerCells.length !== instruction.cells.length) fail(pc, 'cells of inner code');
    }
    if (
      instruction.op === 'intrinsic' &&
      instruction.args.length !== intrinsics[instruction.name]
    ) {
      fail(pc, 'number of operands');
    }
    if (instruction.op === 'outerCell' && code.outerCells[instruction.index] === undefined) {
      fail(pc, 'no such outer cell');
    }
  }
  let last = 0;
  for (const { start, end, target, error } of code.regions) {
    if (start < last || end <= start || end > count) fail(start, `protected up to ${end}`);
    if (target < 0 || target >= count) fail(start, `is caught at ${target}`);
    if (error < 0 || error >= code.registerCount) fail(start, `r${error} does not exist`);
    last = end;
  }
  checkContents(code, fail);
  for (const inner of code.inner) verify(inner);
}

function checkContents(code: Code, fail: (pc: Pc, problem: string) => never): void {
  const before = new Map<Pc, Contents>([[0, new Array(code.registerCount).fill(undefined)]]);
  const pending: Pc[] = [0];
  for (let pc = pending.pop(); pc !== undefined; pc = pending.pop()) {
    const instruction = code.instructions[pc]!;
    const contents = before.get(pc)!;
    checkReads(instruction, contents, (problem) => fail(pc!, problem));
    const written = writes(instruction);
    if (written !== undefined && !(written >= 0 && written < code.registerCount)) {
      fail(pc, `r${written} does not exist`);
    }
    const arrive = (next: Pc, after: Contents): void => {
      const known = before.get(next);
      const merged = known ? meet(known, after) : after;
      if (known && merged.every((kind, register) => kind === known[register])) return;
      before.set(next, merged);
      pending.push(next);
    };
    for (const next of successors(code, pc)) {
      const jumps = next === jumpTarget(instruction) && next !== pc + 1;
      const before = jumps && !effectOf(instruction).writesBeforeJump;
      arrive(next, before ? contents : afterWrite(instruction, contents));
    }
    const handler = handlerOf(code, pc);
    if (handler) arrive(handler.target, contents.with(handler.error, 'value'));
  }
  for (const pc of code.instructions.keys()) if (!before.has(pc)) fail(pc, 'is unreachable');
}

function checkReads(
  instruction: Instruction,
  contents: Contents,
  fail: (problem: string) => void,
): void {
  const effect = effectOf(instruction);
  const check = (register: Reg, kind: RegisterKind): void => {
    const held = contents[register];
    if (held !== kind) fail(`r${register} should hold a ${kind}, but holds ${held ?? 'nothing'}`);
  };
  for (const register of effect.values(instruction)) check(register, 'value');
  for (const register of effect.cells?.(instruction) ?? []) check(register, 'cell');
  if (effect.iterator) check(effect.iterator(instruction), 'iterator');
}

function afterWrite(instruction: Instruction, contents: Contents): Contents {
  const written = writes(instruction);
  return written === undefined ? contents : contents.with(written, effectOf(instruction).result);
}

const meet = (a: Contents, b: Contents): Contents =>
  a.map((kind, register) => (kind === b[register] ? kind : undefined));
