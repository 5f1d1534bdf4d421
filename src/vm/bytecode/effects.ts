import type { Code } from './code.ts';
import type { Instruction, InstructionOf, Opcode, Pc, Reg } from './instructions.ts';
import { type ProtectedRegion, protectionAt } from './protection.ts';

/** The kind of a register's content. The verifier keeps the kinds separate. */
export type RegisterKind = 'value' | 'cell' | 'iterator';

/**
 * Where control continues: at the next instruction, there or at the target, only at the target, or outside of the
 * function.
 */
type Flow = 'next' | 'branch' | 'jump' | 'leave';

/** The facts about an opcode that analyses need. The interpreter defines what it computes. */
interface Effect<O extends Opcode> {
  /** Registers read as values, in evaluation order. */
  values(instruction: InstructionOf<O>): readonly Reg[];
  /** Registers read as cells. */
  cells?(instruction: InstructionOf<O>): readonly Reg[];
  /** The register read as an iterator record. */
  iterator?(instruction: InstructionOf<O>): Reg;
  /** The kind of value written to `dst`; omitted when there is no `dst`. */
  readonly result?: RegisterKind;
  /** `dst` is also written on the path to the target. */
  readonly writesBeforeJump?: boolean;
  readonly flow: Flow;
  readonly throws: boolean;
  /** True for anything that may run user code: calls, getters, setters, `valueOf`, iterators, proxies. */
  readonly runsUserCode: boolean;
}

const none = (): readonly Reg[] => [];
const quiet = { flow: 'next', throws: false, runsUserCode: false } as const;
const throwing = { flow: 'next', throws: true, runsUserCode: false } as const;
const open = { flow: 'next', throws: true, runsUserCode: true } as const;
const branch = { flow: 'branch', throws: false, runsUserCode: false } as const;
const value = { result: 'value' } as const;

const receiver = (instruction: { receiver: Reg | null }): readonly Reg[] =>
  instruction.receiver === null ? [] : [instruction.receiver];

const given = (...registers: (Reg | null | undefined)[]): readonly Reg[] =>
  registers.filter((each) => each !== undefined && each !== null);

export const effects: { readonly [O in Opcode]: Effect<O> } = {
  const: { values: none, ...value, ...quiet },
  regexp: { values: none, ...value, ...quiet },
  move: { values: (i) => [i.src], ...value, ...quiet },
  uninitialized: { values: none, ...value, ...quiet },
  checkInitialized: { values: (i) => [i.src], ...throwing },
  arg: { values: none, ...value, ...quiet },
  restArgs: { values: none, ...value, ...quiet },
  this: { values: none, ...value, ...quiet },
  newTarget: { values: none, ...value, ...quiet },
  arguments: { values: none, ...value, ...quiet },
  parameterCell: { values: (i) => [i.arguments], result: 'cell', ...quiet },
  // Free names reach the user's scope, where a global may be a getter.
  loadFree: { values: none, ...value, ...open },
  storeFree: { values: (i) => [i.src], ...open },
  typeofFree: { values: none, ...value, ...open },
  newCell: { values: none, result: 'cell', ...quiet },
  loadCell: { values: none, cells: (i) => [i.cell], ...value, ...quiet },
  storeCell: { values: (i) => [i.src], cells: (i) => [i.cell], ...quiet },
  outerCell: { values: none, result: 'cell', ...quiet },
  closure: { values: (i) => given(i.nameFrom, i.home), cells: (i) => i.cells, ...value, ...quiet },
  // `extends` checks the parent and reads its prototype.
  class: { values: (i) => given(i.parent, i.nameFrom), cells: (i) => i.cells, ...value, ...open },
  unary: { values: (i) => [i.src], ...value, ...open },
  binary: { values: (i) => [i.left, i.right], ...value, ...open },
  toNumeric: { values: (i) => [i.src], ...value, ...open },
  increment: { values: (i) => [i.src], ...value, ...open },
  toPropertyKey: { values: (i) => [i.src], ...value, ...open },
  template: { values: (i) => i.values, ...value, ...open },
  templateObject: { values: none, ...value, ...quiet },
  getProp: { values: (i) => [i.object], ...value, ...open },
  setProp: { values: (i) => [i.object, i.src], ...open },
  getElem: { values: (i) => [i.object, i.key], ...value, ...open },
  setElem: { values: (i) => [i.object, i.key, i.src], ...open },
  deleteProp: { values: (i) => [i.object, i.key], ...value, ...open },
  getPrivate: { values: (i) => [i.object], ...value, ...open },
  setPrivate: { values: (i) => [i.object, i.src], ...open },
  hasPrivate: { values: (i) => [i.object], ...value, ...throwing },
  newArray: { values: (i) => i.elements, ...value, ...quiet },
  arrayPush: { values: (i) => [i.array, i.src], ...quiet },
  arraySpread: { values: (i) => [i.array, i.iterable], ...open },
  newObject: { values: none, ...value, ...quiet },
  // The object is new and the key converted, so no user code runs.
  defineProp: { values: (i) => [i.object, i.key, i.src], ...quiet },
  defineAccessor: { values: (i) => [i.object, i.key, i.src], ...quiet },
  setPrototype: { values: (i) => [i.object, i.src], ...quiet },
  objectSpread: { values: (i) => [i.object, i.source], ...open },
  objectRest: { values: (i) => [i.source, ...i.excluded], ...value, ...open },
  requireObject: { values: (i) => [i.src], ...throwing },
  call: { values: (i) => [i.callee, ...receiver(i), ...i.args], ...value, ...open },
  callSpread: { values: (i) => [i.callee, ...receiver(i), i.args], ...value, ...open },
  construct: { values: (i) => [i.callee, ...i.args], ...value, ...open },
  constructSpread: { values: (i) => [i.callee, i.args], ...value, ...open },
  getSuper: { values: none, ...value, ...open },
  getSuperElem: { values: (i) => [i.key], ...value, ...open },
  intrinsic: { values: (i) => i.args, ...value, ...open },
  generatorStart: { values: none, ...open },
  yield: { values: (i) => [i.src], ...value, ...open, flow: 'branch', writesBeforeJump: true },
  await: { values: (i) => [i.src], ...value, ...open },
  getIterator: { values: (i) => [i.iterable], result: 'iterator', ...open },
  // May call the traps of a proxy.
  getKeyIterator: { values: (i) => [i.object], result: 'iterator', ...open },
  iteratorNext: { values: none, iterator: (i) => i.iterator, ...value, ...open, flow: 'branch' },
  iteratorSkip: { values: none, iterator: (i) => i.iterator, ...open },
  iteratorClose: { values: none, iterator: (i) => i.iterator, ...open },
  jump: { values: none, ...branch, flow: 'jump' },
  jumpIf: { values: (i) => [i.test], ...branch },
  jumpIfNot: { values: (i) => [i.test], ...branch },
  jumpIfNullish: { values: (i) => [i.test], ...branch },
  jumpIfNotUndefined: { values: (i) => [i.test], ...branch },
  return: { values: (i) => [i.src], ...quiet, flow: 'leave' },
  throw: { values: (i) => [i.src], ...throwing, flow: 'leave' },
};

/** Returns the effect of an instruction, typed so that it can be applied to it. */
export function effectOf(instruction: Instruction): Effect<Opcode> {
  return effects[instruction.op] as Effect<Opcode>;
}

/** Returns every register that the instruction reads: values, cells, then the iterator. */
export function reads(instruction: Instruction): readonly Reg[] {
  const effect = effectOf(instruction);
  const read = [...effect.values(instruction)];
  if (effect.cells) read.push(...effect.cells(instruction));
  if (effect.iterator) read.push(effect.iterator(instruction));
  return read;
}

/** Returns the register that the instruction writes; `iteratorNext` writes it only if it doesn't jump. */
export function writes(instruction: Instruction): Reg | undefined {
  return 'dst' in instruction ? instruction.dst : undefined;
}

export function jumpTarget(instruction: Instruction): Pc | undefined {
  if ('target' in instruction) return instruction.target;
  return instruction.op === 'iteratorNext' ? instruction.done : undefined;
}

/** Returns the handler of the instruction's exceptions; undefined if it can't throw or has no handler. */
export function handlerOf(code: Code, pc: Pc): ProtectedRegion | undefined {
  return effectOf(code.instructions[pc]!).throws ? protectionAt(code, pc) : undefined;
}

/** Returns the pcs that may follow the instruction at `pc`, the next instruction first. Excludes exceptions. */
export function successors(code: Code, pc: Pc): readonly Pc[] {
  const instruction = code.instructions[pc]!;
  const target = jumpTarget(instruction);
  switch (effectOf(instruction).flow) {
    case 'next':
      return [pc + 1];
    case 'branch':
      return [pc + 1, target!];
    case 'jump':
      return [target!];
    case 'leave':
      return [];
  }
}

/** True if the frame is suspended at the instruction; its driver resumes it. */
export const suspends = ({ op }: Instruction): boolean =>
  op === 'await' || op === 'yield' || op === 'generatorStart';
