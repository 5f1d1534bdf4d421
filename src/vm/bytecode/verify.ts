import { invariant } from '../../../runtime/errors/invariant.ts';
import type { Code } from './code.ts';
import { effectOf, handlerOf, jumpTarget, type RegisterKind, writes } from './effects.ts';
import type { Instruction, Pc, Reg } from './instructions.ts';
import { intrinsics } from './intrinsics.ts';
import { liveBefore } from './liveness.ts';
import { printInstruction } from './print.ts';

/** The possible contents of a register. The first means none, or not the same on all paths. */
const kinds = ['', 'value', 'cell', 'iterator'] as const;

/** The contents of the registers before an instruction: an index in `kinds` for each. */
type Contents = Uint8Array;

/**
 * Verifies a code and its inner codes: registers and jumps are in range, the end is not reached by falling
 * through, protected regions are disjoint and ordered, every register is written before it is read on all paths,
 * cells and iterators are used as such, the registers that liveness says a resumed frame needs are written on all
 * paths, and inner codes get the cells that they require. Throws an invariant error that names the function and
 * the instruction.
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
  const starts = blockStarts(code);
  const before = new Map<Pc, Contents>([[0, new Uint8Array(code.registerCount)]]);
  const reached = new Uint8Array(code.instructions.length);
  const pending: Pc[] = [0];
  const arrive = (next: Pc, after: Contents): void => {
    const known = before.get(next);
    if (known && !meet(known, after)) return;
    if (!known) before.set(next, after.slice());
    pending.push(next);
  };
  for (let start = pending.pop(); start !== undefined; start = pending.pop()) {
    const contents = before.get(start)!.slice();
    // The instructions up to the next pc that control may reach from elsewhere.
    for (let pc = start; ; pc++) {
      reached[pc] = 1;
      const instruction = code.instructions[pc]!;
      checkReads(instruction, contents, (problem) => fail(pc, problem));
      const handler = handlerOf(code, pc);
      if (handler) arrive(handler.target, withKind(contents, handler.error, 'value'));
      const target = jumpTarget(instruction);
      const { flow, result, writesBeforeJump } = effectOf(instruction);
      if (target !== undefined && !writesBeforeJump && target !== pc + 1) arrive(target, contents);
      const written = writes(instruction);
      if (written !== undefined) {
        if (!(written >= 0 && written < code.registerCount)) fail(pc, `r${written} does not exist`);
        contents[written] = result ? kinds.indexOf(result) : 0;
      }
      if (target !== undefined && (writesBeforeJump || target === pc + 1)) arrive(target, contents);
      if (flow === 'leave' || flow === 'jump') break;
      if (starts.has(pc + 1)) {
        arrive(pc + 1, contents);
        break;
      }
    }
  }
  for (const pc of code.instructions.keys()) if (!reached[pc]) fail(pc, 'is unreachable');
  const live = liveBefore(code);
  for (const [pc, contents] of before) {
    for (const register of live[pc]!) {
      if (contents[register] === 0) fail(pc, `r${register} lives, but holds nothing`);
    }
  }
}

function blockStarts(code: Code): ReadonlySet<Pc> {
  const starts = new Set<Pc>(code.regions.map(({ target }) => target));
  for (const instruction of code.instructions) {
    const target = jumpTarget(instruction);
    if (target !== undefined) starts.add(target);
  }
  return starts;
}

function checkReads(
  instruction: Instruction,
  contents: Contents,
  fail: (problem: string) => void,
): void {
  const effect = effectOf(instruction);
  const check = (register: Reg, kind: RegisterKind): void => {
    const held = kinds[contents[register]!];
    if (held !== kind) fail(`r${register} should hold a ${kind}, but holds ${held || 'nothing'}`);
  };
  for (const register of effect.values(instruction)) check(register, 'value');
  for (const register of effect.cells?.(instruction) ?? []) check(register, 'cell');
  if (effect.iterator) check(effect.iterator(instruction), 'iterator');
}

function withKind(contents: Contents, register: Reg, kind: RegisterKind): Contents {
  const copy = contents.slice();
  copy[register] = kinds.indexOf(kind);
  return copy;
}

/** Keeps in `known` what both paths have in common. Returns true if that reduces it. */
function meet(known: Contents, other: Contents): boolean {
  let changed = false;
  for (let register = 0; register < known.length; register++) {
    if (known[register] === 0 || known[register] === other[register]) continue;
    known[register] = 0;
    changed = true;
  }
  return changed;
}
