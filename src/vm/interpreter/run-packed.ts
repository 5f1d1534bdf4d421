import { type Cell, type Frame, uninitialized } from '../bytecode/frame.ts';
import { binary } from '../bytecode/operators.ts';
import type { MachineFor } from '../frames/machine.ts';
import { notCallable } from '../language/native-errors.ts';
import { append, apply, argumentAt } from '../language/primordials.ts';
import { firstBranch, firstOperator, operatorOf, type PackedCode } from './packed-code.ts';
import { asIterator } from './semantics.ts';

/** Executes an instruction that isn't packed, and returns the pc to continue at. */
type ExecuteUnpacked = (frame: Frame, pc: number, machineFor: MachineFor) => number;

type Callable = (...args: unknown[]) => unknown;

/** The result of `ExecuteUnpacked` for an instruction that ends or suspends the run. */
export const pausing = -1;

/**
 * Runs a frame from its pc to its return, whose value it returns; or to an instruction for which `rare` returns
 * `pausing`, where it stops and returns undefined. If an instruction throws, the pc stays on it.
 *
 * Each operator has a fast path for two numbers. Other operands use the language's operator, with the frame's pc set,
 * since it may throw, or call user code that reads the position.
 */
export function runPacked(
  frame: Frame,
  { words, values }: PackedCode,
  rare: ExecuteUnpacked,
  machineFor: MachineFor,
): unknown {
  const R = frame.registers;
  let { pc } = frame;
  for (;;) {
    const at = pc << 2;
    const operation = words[at]!;
    if (operation >= firstOperator) {
      const right = words[at + 3]!;
      const x = R[words[at + 2]!];
      const y = right >= 0 ? R[right] : values[~right];
      const to = words[at + 1]!;
      pc += right >= 0 ? 1 : 2;
      if (typeof x === 'number' && typeof y === 'number') {
        switch (operation) {
          case 50:
            R[to] = x + y;
            continue;
          case 51:
            R[to] = x - y;
            continue;
          case 52:
            R[to] = x * y;
            continue;
          case 53:
            R[to] = x / y;
            continue;
          case 54:
            R[to] = x % y;
            continue;
          case 55:
            R[to] = x | y;
            continue;
          case 56:
            R[to] = x & y;
            continue;
          case 57:
            R[to] = x ^ y;
            continue;
          case 58:
            R[to] = x << y;
            continue;
          case 59:
            R[to] = x >> y;
            continue;
          case 60:
            R[to] = x >>> y;
            continue;
          case 61:
            R[to] = x < y;
            continue;
          case 62:
            R[to] = x <= y;
            continue;
          case 63:
            R[to] = x > y;
            continue;
          case 64:
            R[to] = x >= y;
            continue;
          case 65:
            R[to] = x === y;
            continue;
          case 66:
            R[to] = x !== y;
            continue;
          case 70:
            pc = x < y ? pc + 1 : to;
            continue;
          case 71:
            pc = x <= y ? pc + 1 : to;
            continue;
          case 72:
            pc = x > y ? pc + 1 : to;
            continue;
          case 73:
            pc = x >= y ? pc + 1 : to;
            continue;
          case 74:
            pc = x === y ? pc + 1 : to;
            continue;
          case 75:
            pc = x !== y ? pc + 1 : to;
            continue;
          case 76:
            pc = (x & y) !== 0 ? pc + 1 : to;
            continue;
        }
      }
      frame.pc = pc - 1;
      const value = binary(operatorOf(operation), x, y);
      if (operation < firstBranch) R[to] = value;
      else pc = value ? pc + 1 : to;
      continue;
    }
    switch (operation) {
      case 1: // move
        R[words[at + 1]!] = R[words[at + 2]!];
        pc++;
        continue;
      case 2: // const
        R[words[at + 1]!] = values[words[at + 2]!];
        pc++;
        continue;
      case 3: // jump
        pc = words[at + 1]!;
        continue;
      case 4: // jumpIf
        pc = R[words[at + 1]!] ? words[at + 2]! : pc + 1;
        continue;
      case 5: // jumpIfNot
        pc = R[words[at + 1]!] ? pc + 1 : words[at + 2]!;
        continue;
      case 6: {
        // increment
        const x = R[words[at + 2]!];
        if (typeof x === 'number') R[words[at + 1]!] = x + 1;
        else {
          frame.pc = pc;
          let number = x as number;
          R[words[at + 1]!] = ++number;
        }
        pc++;
        continue;
      }
      case 7: // arg
        R[words[at + 1]!] = argumentAt(frame.args, words[at + 2]!);
        pc++;
        continue;
      case 8: {
        // decrement
        const x = R[words[at + 2]!];
        if (typeof x === 'number') R[words[at + 1]!] = x - 1;
        else {
          frame.pc = pc;
          let number = x as number;
          R[words[at + 1]!] = --number;
        }
        pc++;
        continue;
      }
      case 9: // return
        frame.pc = pc;
        return R[words[at + 1]!];
      case 10: // getProp
        frame.pc = pc;
        R[words[at + 1]!] = (R[words[at + 2]!] as Record<string, unknown>)[
          values[words[at + 3]!] as string
        ];
        pc++;
        continue;
      case 11: // setProp
        frame.pc = pc;
        (R[words[at + 1]!] as Record<string, unknown>)[values[words[at + 2]!] as string] =
          R[words[at + 3]!];
        pc++;
        continue;
      case 12: // getElem
        frame.pc = pc;
        R[words[at + 1]!] = (R[words[at + 2]!] as Record<string, unknown>)[
          R[words[at + 3]!] as string
        ];
        pc++;
        continue;
      case 13: // setElem
        frame.pc = pc;
        (R[words[at + 1]!] as Record<string, unknown>)[R[words[at + 2]!] as string] =
          R[words[at + 3]!];
        pc++;
        continue;
      case 14: {
        // iteratorNext
        frame.pc = pc;
        const record = asIterator(R[words[at + 2]!]);
        if (record.advance()) {
          R[words[at + 1]!] = record.current;
          pc++;
        } else pc = words[at + 3]!;
        continue;
      }
      case 15: // newCell
        R[words[at + 1]!] = { value: uninitialized } satisfies Cell;
        pc++;
        continue;
      case 16: // loadCell
        R[words[at + 1]!] = (R[words[at + 2]!] as Cell).value;
        pc++;
        continue;
      case 17: // storeCell
        (R[words[at + 1]!] as Cell).value = R[words[at + 2]!];
        pc++;
        continue;
      case 18: // outerCell
        R[words[at + 1]!] = frame.closure.cells[words[at + 2]!];
        pc++;
        continue;
      case 20: {
        // call
        frame.pc = pc;
        const callee = R[words[at + 2]!] as Callable;
        if (typeof callee !== 'function') throw notCallable(frame.closure.code, pc);
        const args = values[words[at + 3]!] as readonly number[];
        if (args.length === 1) R[words[at + 1]!] = callee(R[args[0]!]);
        else if (args.length === 0) R[words[at + 1]!] = callee();
        else if (args.length === 2) R[words[at + 1]!] = callee(R[args[0]!], R[args[1]!]);
        else R[words[at + 1]!] = apply(callee, undefined, listFrom(R, args, 0));
        pc++;
        continue;
      }
      case 21: {
        // call with a receiver, which precedes the arguments
        frame.pc = pc;
        const callee = R[words[at + 2]!] as Callable;
        if (typeof callee !== 'function') throw notCallable(frame.closure.code, pc);
        const args = values[words[at + 3]!] as readonly number[];
        const self = R[args[0]!];
        if (args.length === 2) R[words[at + 1]!] = apply(callee, self, [R[args[1]!]]);
        else R[words[at + 1]!] = apply(callee, self, listFrom(R, args, 1));
        pc++;
        continue;
      }
      default:
        frame.pc = pc;
        pc = rare(frame, pc, machineFor);
        if (pc === pausing) return undefined;
    }
  }
}

function listFrom(R: readonly unknown[], from: readonly number[], start: number): unknown[] {
  const list: unknown[] = [];
  for (let i = start; i < from.length; i++) append(list, R[from[i]!]);
  return list;
}
