import type { Code } from '../bytecode/code.ts';
import type { BinaryOperator, Instruction, Pc, Reg } from '../bytecode/instructions.ts';
import { liveDuring } from '../bytecode/liveness.ts';
import { append, weakGet, weakSet } from '../language/primordials.ts';

/**
 * Instructions as four integers each, an operation and three operands, so that a single compiled `switch` executes
 * them. The entry at each pc is the instruction at that pc, possibly fused with following instructions if nothing
 * else reads the intermediate value. A frame may therefore be entered at any pc.
 *
 * The operations are plain numbers, because engines create jump tables for literal cases only. `run-packed.ts`
 * uses the same numbers.
 */
export interface PackedCode {
  readonly words: Int32Array;
  /** Constants, property keys and argument lists, by operand. */
  readonly values: readonly unknown[];
}

/** Not packed: executed by the opcode's handler. */
const rare = 0;

const simple = { move: 1, const: 2, jump: 3, jumpIf: 4, jumpIfNot: 5, arg: 7 } as const;
const increments = { up: 6, down: 8 } as const;
const returns = 9;

/**
 * Operators: dst, left, right. Then comparisons, and `&`, fused with a jump: the target if false, left, right.
 * `right` is a register, or the complement (`~`) of a constant's index, whose instruction precedes this one.
 */
export const firstOperator = 50;
export const firstBranch = 70;
const arithmetic: readonly BinaryOperator[] = [
  '+',
  '-',
  '*',
  '/',
  '%',
  '|',
  '&',
  '^',
  '<<',
  '>>',
  '>>>',
];
const comparisons: readonly BinaryOperator[] = ['<', '<=', '>', '>=', '===', '!=='];
const operators = [...arithmetic, ...comparisons];
const branching: readonly BinaryOperator[] = [...comparisons, '&'];

export const operatorOf = (operation: number): BinaryOperator =>
  (operation < firstBranch
    ? operators[operation - firstOperator]
    : branching[operation - firstBranch])!;

const objects = { getProp: 10, setProp: 11, getElem: 12, setElem: 13, iteratorNext: 14 } as const;
const cells = { newCell: 15, loadCell: 16, storeCell: 17, outerCell: 18 } as const;
const calls = { plain: 20, withReceiver: 21 } as const;

const known = new WeakMap<Code, PackedCode>();

/** Returns the packed code, which is created once per code. */
export function packedCode(code: Code): PackedCode {
  let packed = weakGet(known, code);
  if (!packed) {
    packed = pack(code);
    weakSet(known, code, packed);
  }
  return packed;
}

function pack(code: Code): PackedCode {
  const words = new Int32Array(code.instructions.length * 4);
  const values: unknown[] = [];
  const value = (each: unknown): number => {
    append(values, each);
    return values.length - 1;
  };
  for (let pc = 0; pc < code.instructions.length; pc++) {
    const packer = new Packer(words, pc * 4);
    packFused(code, pc, packer, value) || packOne(code, code.instructions[pc]!, packer, value);
  }
  return { words, values };
}

class Packer {
  constructor(
    private readonly words: Int32Array,
    private readonly at: number,
  ) {}

  put(operation: number, a = 0, b = 0, c = 0): true {
    this.words[this.at] = operation;
    this.words[this.at + 1] = a;
    this.words[this.at + 2] = b;
    this.words[this.at + 3] = c;
    return true;
  }
}

type Value = (each: unknown) => number;

/** Fuses a constant, the operator that reads it, and the jump that reads the result, where they are consecutive. */
function packFused(code: Code, pc: Pc, packer: Packer, value: Value): boolean {
  const first = code.instructions[pc]!;
  const isConstant = first.op === 'const' && typeof first.value === 'number';
  const at = isConstant ? pc + 1 : pc;
  const binary = code.instructions[at];
  if (binary?.op !== 'binary') return false;
  const { operator, dst, left, right } = binary;
  if (isConstant && (right !== first.dst || left === first.dst || isNeeded(code, at, first.dst))) {
    return false;
  }
  const operand = isConstant ? ~value(first.value) : right;
  const jump = code.instructions[at + 1];
  const branch = indexIn(branching, operator);
  if (branch >= 0 && jump?.op === 'jumpIfNot' && jump.test === dst) {
    if (!isNeeded(code, at + 1, dst)) {
      return packer.put(firstBranch + branch, jump.target, left, operand);
    }
  }
  const operation = indexIn(operators, operator);
  return operation >= 0 && packer.put(firstOperator + operation, dst, left, operand);
}

function indexIn(list: readonly BinaryOperator[], operator: BinaryOperator): number {
  for (let i = 0; i < list.length; i++) if (list[i] === operator) return i;
  return -1;
}

/** Returns whether a register's value from before the instruction at `pc` is read after it. */
const isNeeded = (code: Code, pc: Pc, register: Reg): boolean => liveDuring(code, pc).has(register);

function packOne(code: Code, i: Instruction, packer: Packer, value: Value): boolean {
  switch (i.op) {
    case 'move':
      return packer.put(simple.move, i.dst, i.src);
    case 'const':
      return packer.put(simple.const, i.dst, value(i.value));
    case 'jump':
      return packer.put(simple.jump, i.target);
    case 'jumpIf':
    case 'jumpIfNot':
      return packer.put(simple[i.op], i.test, i.target);
    case 'arg':
      return packer.put(simple.arg, i.dst, i.index);
    case 'increment':
      return packer.put(i.by === 1 ? increments.up : increments.down, i.dst, i.src);
    case 'return':
      return packer.put(returns, i.src);
    case 'getProp':
      return packer.put(objects.getProp, i.dst, i.object, value(i.key));
    case 'setProp':
      // In sloppy mode, failing writes are ignored, but the loop is in strict mode.
      return code.strict && packer.put(objects.setProp, i.object, value(i.key), i.src);
    case 'getElem':
      return packer.put(objects.getElem, i.dst, i.object, i.key);
    case 'setElem':
      return code.strict && packer.put(objects.setElem, i.object, i.key, i.src);
    case 'iteratorNext':
      return packer.put(objects.iteratorNext, i.dst, i.iterator, i.done);
    case 'newCell':
      return packer.put(cells.newCell, i.dst);
    case 'loadCell':
      return packer.put(cells.loadCell, i.dst, i.cell);
    case 'storeCell':
      return packer.put(cells.storeCell, i.cell, i.src);
    case 'outerCell':
      return packer.put(cells.outerCell, i.dst, i.index);
    case 'call':
      return i.receiver === null
        ? packer.put(calls.plain, i.dst, i.callee, value(i.args))
        : packer.put(calls.withReceiver, i.dst, i.callee, value([i.receiver, ...i.args]));
    default:
      return packer.put(rare);
  }
}
