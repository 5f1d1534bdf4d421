/** `test ? x : y` of numbers, by a boolean that differs between calls: each run selects the number. */

import { isProxy } from '../../guards/plain.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { Code } from '../../vm/bytecode/code.ts';
import { successors } from '../../vm/bytecode/effects.ts';
import type { Instruction, InstructionOf, Pc, Reg } from '../../vm/bytecode/instructions.ts';
import { liveBefore } from '../../vm/bytecode/liveness.ts';
import { structureOf } from '../../vm/bytecode/structure.ts';
import { OwnSet, owns } from '../../vm/language/primordials.ts';
import {
  chosenBy,
  dependsOnBoolean,
  isChangingBoolean,
  isNumeric,
} from '../control-flow/numbers/changing-booleans.ts';
import type { Tracer } from '../state/tracer.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import { UnionMet } from '../variables/unions.ts';
import {
  type ConstantVariable,
  known,
  type SymbolicVariable,
  type Variable,
} from '../variables/variable.ts';
import { get, type Handler, set } from './handlers/handler.ts';
import { objectHandlers } from './handlers/objects.ts';
import { operatorHandlers } from './handlers/operators.ts';
import { valueHandlers } from './handlers/values.ts';

type Jump = InstructionOf<'jumpIf' | 'jumpIfNot'>;

/** The maximum number of instructions on the paths of one choice. */
const maxSteps = 64;

/**
 * Traces both paths of a jump if they only compute numbers, and returns where they merge; undefined for other jumps,
 * which decide where the trace continues.
 */
export function chooseNumbers(t: Tracer, frame: TraceFrame, jump: Jump): Pc | undefined {
  if (!isTest(t, get(frame, jump.test))) return undefined;
  if (!computesOnly(frame.closure.code, frame.pc)) return undefined;
  const registers = [...frame.registers];
  const { pc } = frame;
  try {
    const end = new Choice(t, frame).at(pc, jump);
    if (end === undefined) restore(frame, registers);
    return end;
  } catch (error) {
    // The path may not be taken in this call; if it is, the instruction is reached again.
    restore(frame, registers);
    if (error instanceof GraphBreak || error instanceof UnionMet) return undefined;
    throw error;
  } finally {
    frame.pc = pc;
  }
}

/** Whether the paths from the jump to their merge only compute and read. */
function computesOnly(code: Code, jump: Pc): boolean {
  const merge = structureOf(code).merges[jump];
  if (merge === undefined) return false;
  const found = new OwnSet<Pc>();
  const open = [...successors(code, jump)];
  for (let pc = open.pop(); pc !== undefined; pc = open.pop()) {
    if (pc === merge || found.has(pc)) continue;
    const { op } = code.instructions[pc]!;
    if (!pure.has(op) || found.size === maxSteps) return false;
    found.add(pc);
    if (op !== 'return') open.push(...successors(code, pc));
  }
  return true;
}

function restore(frame: TraceFrame, registers: readonly (Variable | undefined)[]): void {
  frame.registers.splice(0, frame.registers.length, ...(registers as Variable[]));
}

/** Where a path arrived; undefined if it does more than compute. */
interface PathEnd {
  readonly pc: Pc | undefined;
  readonly registers: readonly (Variable | undefined)[];
}

class Choice {
  readonly #t: Tracer;
  readonly #frame: TraceFrame;
  readonly #stops: ReadonlySet<Pc>;
  #steps = 0;

  constructor(t: Tracer, frame: TraceFrame) {
    this.#t = t;
    this.#frame = frame;
    this.#stops = new OwnSet(t.control.stopsIn(frame));
  }

  /** Merges the paths of the jump. Returns where they merge: at an instruction, or at one of two returns. */
  at(pc: Pc, { op, test: reg, target }: Jump): Pc | undefined {
    const frame = this.#frame;
    const { code } = frame.closure;
    const test = get(frame, reg) as ConstantVariable | SymbolicVariable;
    const merge = structureOf(code).merges[pc];
    if (merge === undefined) return undefined;
    const starts = op === 'jumpIf' ? [target, pc + 1] : [pc + 1, target];
    const before = [...frame.registers];
    // On its paths, the boolean is known.
    const [isTrue, isFalse] =
      typeof test.value === 'boolean' ? [known(true), known(false)] : [test, test];
    const [x, y] = [isTrue, isFalse].map((outcome, i): PathEnd => {
      const registers = before.map((each) => (each === test ? outcome : each));
      return this.#path({ pc: starts[i]!, registers }, merge);
    }) as [PathEnd, PathEnd];
    const untouched = (i: number) => x.registers[i] === isTrue && y.registers[i] === isFalse;
    for (;;) {
      if (x.pc === undefined || y.pc === undefined) return undefined;
      const merged = this.#merged(test, x, y, untouched);
      if (merged) {
        restore(frame, x.registers);
        for (const [reg, variable] of merged) set(frame, reg, variable);
        return y.pc;
      }
      if (x.pc !== y.pc) return undefined;
      // Values of two types may still lead to numbers, such as a default or a table entry.
      const next = code.instructions[x.pc]!;
      if (next.op === 'return') return undefined;
      const isJump = next.op === 'jumpIf' || next.op === 'jumpIfNot';
      const end = isJump ? structureOf(code).merges[x.pc] : x.pc + 1;
      if (end === undefined) return undefined;
      for (const path of [x, y]) Object.assign(path, this.#path(path, end));
    }
  }

  #path({ pc, registers }: PathEnd, end: Pc | null): PathEnd {
    restore(this.#frame, registers);
    const reached = pc === undefined ? pc : this.#run(pc, end);
    return { pc: reached, registers: [...this.#frame.registers] };
  }

  /** Returns the values of the registers that differ where two paths merge; undefined if one has none. */
  #merged(
    test: ConstantVariable | SymbolicVariable,
    x: PathEnd,
    y: PathEnd,
    isTest: (reg: number) => boolean,
  ): (readonly [Reg, Variable])[] | undefined {
    const { code } = this.#frame.closure;
    const [from, to] = [code.instructions[x.pc!]!, code.instructions[y.pc!]!];
    const merged: (readonly [Reg, Variable])[] = [];
    const merge = (of: Reg, other: Reg): boolean => {
      const [a, b] = [x.registers[of], y.registers[other]];
      if (of === other && a === b) return true;
      const chosen = of === other && isTest(of) ? test : a && b && chosenBy(this.#t, test, a, b);
      if (chosen) merged.push([other, chosen]);
      return chosen !== undefined;
    };
    if (from.op === 'return' && to.op === 'return')
      return merge(from.src, to.src) ? merged : undefined;
    if (x.pc !== y.pc) return undefined;
    return [...liveBefore(code)[x.pc!]!].every((reg) => merge(reg, reg)) ? merged : undefined;
  }

  /** Follows a path to the merge or, if `merge` is null, to a return. */
  #run(start: Pc, merge: Pc | null): Pc | undefined {
    const frame = this.#frame;
    const { instructions } = frame.closure.code;
    let pc = start;
    for (;;) {
      if (pc === merge) return pc;
      const instruction = instructions[pc]!;
      if (instruction.op === 'return') return merge === null ? pc : undefined;
      if (this.#stops.has(pc) || ++this.#steps > maxSteps) return undefined;
      const next = this.#next(pc, instruction as Instruction);
      // Not a choice but a loop.
      if (next === undefined || next <= pc) return undefined;
      pc = next;
    }
  }

  #next(pc: Pc, instruction: Instruction): Pc | undefined {
    const { op } = instruction;
    if (op === 'jump') return instruction.target;
    if (op === 'jumpIf' || op === 'jumpIfNot') {
      const test = get(this.#frame, instruction.test);
      if (isTest(this.#t, test)) return this.at(pc, instruction);
      if (!isKnown(test)) return undefined;
      return Boolean(test.value) === (op === 'jumpIf') ? instruction.target : pc + 1;
    }
    if (!this.#isPure(instruction)) return undefined;
    this.#frame.pc = pc;
    const handler = handlers[op as keyof typeof handlers] as Handler<typeof op>;
    handler(this.#t, this.#frame, instruction as never);
    return pc + 1;
  }

  /** Whether the instruction computes a number or reads a value, without calling anything or throwing. */
  #isPure(instruction: Instruction): boolean {
    const value = (reg: Reg) => get(this.#frame, reg);
    switch (instruction.op) {
      case 'const':
      case 'move':
      case 'loadCell':
      case 'outerCell':
      case 'loadFree':
      case 'checkInitialized':
        return true;
      case 'unary':
        return this.#isOperand(value(instruction.src)) && instruction.operator !== 'typeof';
      case 'binary': {
        const { operator, left, right } = instruction;
        if (operator === 'in' || operator === 'instanceof') return false;
        return this.#isOperand(value(left)) && this.#isOperand(value(right));
      }
      case 'getProp':
        return holdsPlainly(value(instruction.object), instruction.key);
      case 'getElem': {
        const key = value(instruction.key);
        const isKey = isKnown(key) && /^(number|string)$/.test(typeof key.value);
        return isKey && holdsPlainly(value(instruction.object), String(key.value));
      }
      default:
        return false;
    }
  }

  #isOperand(variable: Variable): boolean {
    const isKnownBoolean = isKnown(variable) && typeof variable.value === 'boolean';
    return isNumeric(variable) || isKnownBoolean || isChangingBoolean(this.#t, variable);
  }
}

/** Instructions that have no effect on numbers and plain data. */
const handlers = {
  const: valueHandlers.const,
  move: valueHandlers.move,
  loadCell: valueHandlers.loadCell,
  outerCell: valueHandlers.outerCell,
  loadFree: valueHandlers.loadFree,
  checkInitialized: valueHandlers.checkInitialized,
  unary: operatorHandlers.unary,
  binary: operatorHandlers.binary,
  getProp: objectHandlers.getProp,
  getElem: objectHandlers.getElem,
};

const pure: ReadonlySet<Instruction['op']> = new OwnSet<Instruction['op']>([
  ...(Object.keys(handlers) as (keyof typeof handlers)[]),
  'jump',
  'jumpIf',
  'jumpIfNot',
  'return',
]);

/** Whether the value decides a jump, and each run can compute whether it is truthy. */
const isTest = (t: Tracer, variable: Variable): boolean =>
  isChangingBoolean(t, variable) ||
  (variable.kind === 'symbolic' && isNumeric(variable) && dependsOnBoolean(t, variable.expr));

/** Whether the value is a constant of the code, or follows from the path. */
const isKnown = (variable: Variable): variable is ConstantVariable =>
  variable.kind === 'constant' && variable.source === null;

/** Whether the object has an own data property of this name. */
function holdsPlainly(base: Variable, key: string): boolean {
  if (base.kind === 'newObject') return !base.traits && !base.order && base.entries.has(key);
  if ((base.kind !== 'object' && base.kind !== 'function') || isProxy(base.value)) return false;
  const property = Object.getOwnPropertyDescriptor(base.value, key);
  return property !== undefined && owns(property, 'value');
}
