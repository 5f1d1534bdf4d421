/** `test ? x : y` of numbers, by a boolean that differs between calls: a number that each run chooses. */

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
  isChangingBoolean,
  isNumeric,
} from '../control-flow/numbers/changing-booleans.ts';
import type { Tracer } from '../state/tracer.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import { UnionMet } from '../variables/unions.ts';
import type { ConstantVariable, SymbolicVariable, Variable } from '../variables/variable.ts';
import { get, type Handler, set } from './handlers/handler.ts';
import { objectHandlers } from './handlers/objects.ts';
import { operatorHandlers } from './handlers/operators.ts';
import { valueHandlers } from './handlers/values.ts';

type Jump = InstructionOf<'jumpIf' | 'jumpIfNot'>;

/** The maximum number of instructions on the paths of one choice. */
const maxSteps = 64;

/**
 * Traces both paths of a jump if they do nothing but compute numbers, and returns where they meet; undefined for other
 * jumps, which decide where the trace continues.
 */
export function chooseNumbers(t: Tracer, frame: TraceFrame, jump: Jump): Pc | undefined {
  if (!isChangingBoolean(t, get(frame, jump.test))) return undefined;
  if (!computesOnly(frame.closure.code, frame.pc)) return undefined;
  const registers = [...frame.registers];
  const { pc } = frame;
  try {
    const end = new Choice(t, frame).at(pc, jump);
    if (end === undefined) restore(frame, registers);
    return end;
  } catch (error) {
    // The path may not be taken in this call: if it is, its instruction is reached again.
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

  /** Merges the paths of the jump. Returns where they meet: at an instruction, or at one of two returns. */
  at(pc: Pc, { op, test: reg, target }: Jump): Pc | undefined {
    const frame = this.#frame;
    const { code } = frame.closure;
    const test = get(frame, reg) as ConstantVariable | SymbolicVariable;
    const merge = structureOf(code).merges[pc];
    if (merge === undefined) return undefined;
    const starts = op === 'jumpIf' ? [target, pc + 1] : [pc + 1, target];
    const before = [...frame.registers];
    const ends = starts.map((start) => {
      restore(frame, before);
      return { pc: this.#run(start, merge), registers: [...frame.registers] };
    });
    const [x, y] = ends as [(typeof ends)[0], (typeof ends)[0]];
    if (x.pc === undefined || y.pc === undefined) return undefined;
    if (merge === null) {
      const [from, to] = [code.instructions[x.pc]!, code.instructions[y.pc]!];
      if (from.op !== 'return' || to.op !== 'return') return undefined;
      return this.#merge(test, x.registers[from.src], y.registers[to.src], to.src)
        ? y.pc
        : undefined;
    }
    const live = liveBefore(code)[merge]!;
    for (let i = 0; i < Math.max(x.registers.length, y.registers.length); i++) {
      if (!live.has(i as Reg) || x.registers[i] === y.registers[i]) continue;
      if (!this.#merge(test, x.registers[i], y.registers[i], i as Reg)) return undefined;
    }
    return merge;
  }

  #merge(
    test: ConstantVariable | SymbolicVariable,
    x: Variable | undefined,
    y: Variable | undefined,
    dst: Reg,
  ): boolean {
    const chosen = x && y && chosenBy(this.#t, test, x, y);
    if (chosen) set(this.#frame, dst, chosen);
    return chosen !== undefined;
  }

  /** Follows a path to the merge or, if that is null, to a return. */
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
      // A loop is no choice.
      if (next === undefined || next <= pc) return undefined;
      pc = next;
    }
  }

  #next(pc: Pc, instruction: Instruction): Pc | undefined {
    const { op } = instruction;
    if (op === 'jump') return instruction.target;
    if (op === 'jumpIf' || op === 'jumpIfNot') {
      const isOne = isChangingBoolean(this.#t, get(this.#frame, instruction.test));
      return isOne ? this.at(pc, instruction) : undefined;
    }
    if (!this.#isPure(instruction)) return undefined;
    this.#frame.pc = pc;
    const handler = handlers[op as keyof typeof handlers] as Handler<typeof op>;
    handler(this.#t, this.#frame, instruction as never);
    return pc + 1;
  }

  /** Whether the instruction computes a number or reads a value, and neither calls anything nor throws. */
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
        const isIndex = key.kind === 'constant' && typeof key.value === 'number';
        return isIndex && holdsPlainly(value(instruction.object), String(key.value));
      }
      default:
        return false;
    }
  }

  #isOperand(variable: Variable): boolean {
    return isNumeric(variable) || isChangingBoolean(this.#t, variable);
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

/** Whether the pre-existing object has a data property of its own. */
function holdsPlainly(base: Variable, key: string): boolean {
  if ((base.kind !== 'object' && base.kind !== 'function') || isProxy(base.value)) return false;
  const property = Object.getOwnPropertyDescriptor(base.value, key);
  return property !== undefined && owns(property, 'value');
}
