import { type Cell, type Frame, uninitialized } from '../bytecode/frame.ts';
import { binary } from '../bytecode/operators.ts';
import type { MachineFor } from './function-of.ts';
import { notCallable } from './native-errors.ts';
import type { PackedCode } from './packed-code.ts';
import { append, apply } from './primordials.ts';
import { asIterator } from './semantics.ts';

/** An instruction that isn't packed: does it, and answers the pc to go on at. */
export type Rare = (frame: Frame, pc: number, machineFor: MachineFor) => number;

type Callable = (...args: unknown[]) => unknown;

/** What `runPacked` answers where an instruction ends or suspends the run by itself. */
export const pausing = -1;

/**
 * Runs a frame from its pc: to its return, then the result is its value; or to an instruction for which
 * `rare` answers `pausing`, then it stands there, and the result is undefined. A throw leaves the pc on
 * the instruction.
 *
 * Two numbers are the fast way of each operator. Any other operands take the language's own, at its pc:
 * it may throw, or call user code that asks where it is.
 */
export function runPacked(
  frame: Frame,
  { words, values }: PackedCode,
  rare: Rare,
  machineFor: MachineFor,
): unknown {
  const R = frame.registers;
  let { pc } = frame;
  for (;;) {
    const at = pc << 2;
    switch (words[at]) {
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
        R[words[at + 1]!] = frame.args[words[at + 2]!];
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
      case 10: {
        const x = R[words[at + 2]!];
        const y = R[words[at + 3]!];
        if (typeof x === 'number' && typeof y === 'number') R[words[at + 1]!] = x + y;
        else {
          frame.pc = pc;
          R[words[at + 1]!] = binary('+', x, y);
        }
        pc++;
        continue;
      }
      case 11: {
        const x = R[words[at + 2]!];
        const y = R[words[at + 3]!];
        if (typeof x === 'number' && typeof y === 'number') R[words[at + 1]!] = x - y;
        else {
          frame.pc = pc;
          R[words[at + 1]!] = binary('-', x, y);
        }
        pc++;
        continue;
      }
      case 12: {
        const x = R[words[at + 2]!];
        const y = R[words[at + 3]!];
        if (typeof x === 'number' && typeof y === 'number') R[words[at + 1]!] = x * y;
        else {
          frame.pc = pc;
          R[words[at + 1]!] = binary('*', x, y);
        }
        pc++;
        continue;
      }
      case 13: {
        const x = R[words[at + 2]!];
        const y = R[words[at + 3]!];
        if (typeof x === 'number' && typeof y === 'number') R[words[at + 1]!] = x / y;
        else {
          frame.pc = pc;
          R[words[at + 1]!] = binary('/', x, y);
        }
        pc++;
        continue;
      }
      case 14: {
        const x = R[words[at + 2]!];
        const y = R[words[at + 3]!];
        if (typeof x === 'number' && typeof y === 'number') R[words[at + 1]!] = x % y;
        else {
          frame.pc = pc;
          R[words[at + 1]!] = binary('%', x, y);
        }
        pc++;
        continue;
      }
      case 15: {
        const x = R[words[at + 2]!];
        const y = R[words[at + 3]!];
        if (typeof x === 'number' && typeof y === 'number') R[words[at + 1]!] = x < y;
        else {
          frame.pc = pc;
          R[words[at + 1]!] = binary('<', x, y);
        }
        pc++;
        continue;
      }
      case 16: {
        const x = R[words[at + 2]!];
        const y = R[words[at + 3]!];
        if (typeof x === 'number' && typeof y === 'number') R[words[at + 1]!] = x <= y;
        else {
          frame.pc = pc;
          R[words[at + 1]!] = binary('<=', x, y);
        }
        pc++;
        continue;
      }
      case 17: {
        const x = R[words[at + 2]!];
        const y = R[words[at + 3]!];
        if (typeof x === 'number' && typeof y === 'number') R[words[at + 1]!] = x > y;
        else {
          frame.pc = pc;
          R[words[at + 1]!] = binary('>', x, y);
        }
        pc++;
        continue;
      }
      case 18: {
        const x = R[words[at + 2]!];
        const y = R[words[at + 3]!];
        if (typeof x === 'number' && typeof y === 'number') R[words[at + 1]!] = x >= y;
        else {
          frame.pc = pc;
          R[words[at + 1]!] = binary('>=', x, y);
        }
        pc++;
        continue;
      }
      case 19: {
        const x = R[words[at + 2]!];
        const y = R[words[at + 3]!];
        if (typeof x === 'number' && typeof y === 'number') R[words[at + 1]!] = x === y;
        else {
          frame.pc = pc;
          R[words[at + 1]!] = binary('===', x, y);
        }
        pc++;
        continue;
      }
      case 20: {
        const x = R[words[at + 2]!];
        const y = R[words[at + 3]!];
        if (typeof x === 'number' && typeof y === 'number') R[words[at + 1]!] = x !== y;
        else {
          frame.pc = pc;
          R[words[at + 1]!] = binary('!==', x, y);
        }
        pc++;
        continue;
      }
      case 21: {
        const x = R[words[at + 2]!];
        const y = R[words[at + 3]!];
        if (typeof x === 'number' && typeof y === 'number') R[words[at + 1]!] = x | y;
        else {
          frame.pc = pc;
          R[words[at + 1]!] = binary('|', x, y);
        }
        pc++;
        continue;
      }
      case 22: {
        const x = R[words[at + 2]!];
        const y = R[words[at + 3]!];
        if (typeof x === 'number' && typeof y === 'number') R[words[at + 1]!] = x & y;
        else {
          frame.pc = pc;
          R[words[at + 1]!] = binary('&', x, y);
        }
        pc++;
        continue;
      }
      case 23: {
        const x = R[words[at + 2]!];
        const y = R[words[at + 3]!];
        if (typeof x === 'number' && typeof y === 'number') R[words[at + 1]!] = x ^ y;
        else {
          frame.pc = pc;
          R[words[at + 1]!] = binary('^', x, y);
        }
        pc++;
        continue;
      }
      case 24: {
        const x = R[words[at + 2]!];
        const y = R[words[at + 3]!];
        if (typeof x === 'number' && typeof y === 'number') R[words[at + 1]!] = x << y;
        else {
          frame.pc = pc;
          R[words[at + 1]!] = binary('<<', x, y);
        }
        pc++;
        continue;
      }
      case 25: {
        const x = R[words[at + 2]!];
        const y = R[words[at + 3]!];
        if (typeof x === 'number' && typeof y === 'number') R[words[at + 1]!] = x >> y;
        else {
          frame.pc = pc;
          R[words[at + 1]!] = binary('>>', x, y);
        }
        pc++;
        continue;
      }
      case 26: {
        const x = R[words[at + 2]!];
        const y = R[words[at + 3]!];
        if (typeof x === 'number' && typeof y === 'number') R[words[at + 1]!] = x >>> y;
        else {
          frame.pc = pc;
          R[words[at + 1]!] = binary('>>>', x, y);
        }
        pc++;
        continue;
      }
      case 30: {
        const x = R[words[at + 2]!];
        const y = values[words[at + 3]!] as number;
        if (typeof x === 'number') R[words[at + 1]!] = x + y;
        else {
          frame.pc = pc + 1;
          R[words[at + 1]!] = binary('+', x, y);
        }
        pc += 2;
        continue;
      }
      case 31: {
        const x = R[words[at + 2]!];
        const y = values[words[at + 3]!] as number;
        if (typeof x === 'number') R[words[at + 1]!] = x - y;
        else {
          frame.pc = pc + 1;
          R[words[at + 1]!] = binary('-', x, y);
        }
        pc += 2;
        continue;
      }
      case 32: {
        const x = R[words[at + 2]!];
        const y = values[words[at + 3]!] as number;
        if (typeof x === 'number') R[words[at + 1]!] = x * y;
        else {
          frame.pc = pc + 1;
          R[words[at + 1]!] = binary('*', x, y);
        }
        pc += 2;
        continue;
      }
      case 33: {
        const x = R[words[at + 2]!];
        const y = values[words[at + 3]!] as number;
        if (typeof x === 'number') R[words[at + 1]!] = x / y;
        else {
          frame.pc = pc + 1;
          R[words[at + 1]!] = binary('/', x, y);
        }
        pc += 2;
        continue;
      }
      case 34: {
        const x = R[words[at + 2]!];
        const y = values[words[at + 3]!] as number;
        if (typeof x === 'number') R[words[at + 1]!] = x % y;
        else {
          frame.pc = pc + 1;
          R[words[at + 1]!] = binary('%', x, y);
        }
        pc += 2;
        continue;
      }
      case 35: {
        const x = R[words[at + 2]!];
        const y = values[words[at + 3]!] as number;
        if (typeof x === 'number') R[words[at + 1]!] = x < y;
        else {
          frame.pc = pc + 1;
          R[words[at + 1]!] = binary('<', x, y);
        }
        pc += 2;
        continue;
      }
      case 36: {
        const x = R[words[at + 2]!];
        const y = values[words[at + 3]!] as number;
        if (typeof x === 'number') R[words[at + 1]!] = x <= y;
        else {
          frame.pc = pc + 1;
          R[words[at + 1]!] = binary('<=', x, y);
        }
        pc += 2;
        continue;
      }
      case 37: {
        const x = R[words[at + 2]!];
        const y = values[words[at + 3]!] as number;
        if (typeof x === 'number') R[words[at + 1]!] = x > y;
        else {
          frame.pc = pc + 1;
          R[words[at + 1]!] = binary('>', x, y);
        }
        pc += 2;
        continue;
      }
      case 38: {
        const x = R[words[at + 2]!];
        const y = values[words[at + 3]!] as number;
        if (typeof x === 'number') R[words[at + 1]!] = x >= y;
        else {
          frame.pc = pc + 1;
          R[words[at + 1]!] = binary('>=', x, y);
        }
        pc += 2;
        continue;
      }
      case 39: {
        const x = R[words[at + 2]!];
        const y = values[words[at + 3]!] as number;
        if (typeof x === 'number') R[words[at + 1]!] = x === y;
        else {
          frame.pc = pc + 1;
          R[words[at + 1]!] = binary('===', x, y);
        }
        pc += 2;
        continue;
      }
      case 40: {
        const x = R[words[at + 2]!];
        const y = values[words[at + 3]!] as number;
        if (typeof x === 'number') R[words[at + 1]!] = x !== y;
        else {
          frame.pc = pc + 1;
          R[words[at + 1]!] = binary('!==', x, y);
        }
        pc += 2;
        continue;
      }
      case 41: {
        const x = R[words[at + 2]!];
        const y = values[words[at + 3]!] as number;
        if (typeof x === 'number') R[words[at + 1]!] = x | y;
        else {
          frame.pc = pc + 1;
          R[words[at + 1]!] = binary('|', x, y);
        }
        pc += 2;
        continue;
      }
      case 42: {
        const x = R[words[at + 2]!];
        const y = values[words[at + 3]!] as number;
        if (typeof x === 'number') R[words[at + 1]!] = x & y;
        else {
          frame.pc = pc + 1;
          R[words[at + 1]!] = binary('&', x, y);
        }
        pc += 2;
        continue;
      }
      case 43: {
        const x = R[words[at + 2]!];
        const y = values[words[at + 3]!] as number;
        if (typeof x === 'number') R[words[at + 1]!] = x ^ y;
        else {
          frame.pc = pc + 1;
          R[words[at + 1]!] = binary('^', x, y);
        }
        pc += 2;
        continue;
      }
      case 44: {
        const x = R[words[at + 2]!];
        const y = values[words[at + 3]!] as number;
        if (typeof x === 'number') R[words[at + 1]!] = x << y;
        else {
          frame.pc = pc + 1;
          R[words[at + 1]!] = binary('<<', x, y);
        }
        pc += 2;
        continue;
      }
      case 45: {
        const x = R[words[at + 2]!];
        const y = values[words[at + 3]!] as number;
        if (typeof x === 'number') R[words[at + 1]!] = x >> y;
        else {
          frame.pc = pc + 1;
          R[words[at + 1]!] = binary('>>', x, y);
        }
        pc += 2;
        continue;
      }
      case 46: {
        const x = R[words[at + 2]!];
        const y = values[words[at + 3]!] as number;
        if (typeof x === 'number') R[words[at + 1]!] = x >>> y;
        else {
          frame.pc = pc + 1;
          R[words[at + 1]!] = binary('>>>', x, y);
        }
        pc += 2;
        continue;
      }
      case 50: {
        const x = R[words[at + 1]!];
        const y = R[words[at + 2]!];
        let holds: unknown;
        if (typeof x === 'number' && typeof y === 'number') holds = x < y;
        else {
          frame.pc = pc;
          holds = binary('<', x, y);
        }
        pc = holds ? pc + 2 : words[at + 3]!;
        continue;
      }
      case 51: {
        const x = R[words[at + 1]!];
        const y = R[words[at + 2]!];
        let holds: unknown;
        if (typeof x === 'number' && typeof y === 'number') holds = x <= y;
        else {
          frame.pc = pc;
          holds = binary('<=', x, y);
        }
        pc = holds ? pc + 2 : words[at + 3]!;
        continue;
      }
      case 52: {
        const x = R[words[at + 1]!];
        const y = R[words[at + 2]!];
        let holds: unknown;
        if (typeof x === 'number' && typeof y === 'number') holds = x > y;
        else {
          frame.pc = pc;
          holds = binary('>', x, y);
        }
        pc = holds ? pc + 2 : words[at + 3]!;
        continue;
      }
      case 53: {
        const x = R[words[at + 1]!];
        const y = R[words[at + 2]!];
        let holds: unknown;
        if (typeof x === 'number' && typeof y === 'number') holds = x >= y;
        else {
          frame.pc = pc;
          holds = binary('>=', x, y);
        }
        pc = holds ? pc + 2 : words[at + 3]!;
        continue;
      }
      case 54: {
        const x = R[words[at + 1]!];
        const y = R[words[at + 2]!];
        let holds: unknown;
        if (typeof x === 'number' && typeof y === 'number') holds = x === y;
        else {
          frame.pc = pc;
          holds = binary('===', x, y);
        }
        pc = holds ? pc + 2 : words[at + 3]!;
        continue;
      }
      case 55: {
        const x = R[words[at + 1]!];
        const y = R[words[at + 2]!];
        let holds: unknown;
        if (typeof x === 'number' && typeof y === 'number') holds = x !== y;
        else {
          frame.pc = pc;
          holds = binary('!==', x, y);
        }
        pc = holds ? pc + 2 : words[at + 3]!;
        continue;
      }
      case 56: {
        const x = R[words[at + 1]!];
        const y = R[words[at + 2]!];
        let holds: unknown;
        if (typeof x === 'number' && typeof y === 'number') holds = (x & y) !== 0;
        else {
          frame.pc = pc;
          holds = binary('&', x, y);
        }
        pc = holds ? pc + 2 : words[at + 3]!;
        continue;
      }
      case 60: {
        const x = R[words[at + 1]!];
        const y = values[words[at + 2]!] as number;
        let holds: unknown;
        if (typeof x === 'number') holds = x < y;
        else {
          frame.pc = pc + 1;
          holds = binary('<', x, y);
        }
        pc = holds ? pc + 3 : words[at + 3]!;
        continue;
      }
      case 61: {
        const x = R[words[at + 1]!];
        const y = values[words[at + 2]!] as number;
        let holds: unknown;
        if (typeof x === 'number') holds = x <= y;
        else {
          frame.pc = pc + 1;
          holds = binary('<=', x, y);
        }
        pc = holds ? pc + 3 : words[at + 3]!;
        continue;
      }
      case 62: {
        const x = R[words[at + 1]!];
        const y = values[words[at + 2]!] as number;
        let holds: unknown;
        if (typeof x === 'number') holds = x > y;
        else {
          frame.pc = pc + 1;
          holds = binary('>', x, y);
        }
        pc = holds ? pc + 3 : words[at + 3]!;
        continue;
      }
      case 63: {
        const x = R[words[at + 1]!];
        const y = values[words[at + 2]!] as number;
        let holds: unknown;
        if (typeof x === 'number') holds = x >= y;
        else {
          frame.pc = pc + 1;
          holds = binary('>=', x, y);
        }
        pc = holds ? pc + 3 : words[at + 3]!;
        continue;
      }
      case 64: {
        const x = R[words[at + 1]!];
        const y = values[words[at + 2]!] as number;
        let holds: unknown;
        if (typeof x === 'number') holds = x === y;
        else {
          frame.pc = pc + 1;
          holds = binary('===', x, y);
        }
        pc = holds ? pc + 3 : words[at + 3]!;
        continue;
      }
      case 65: {
        const x = R[words[at + 1]!];
        const y = values[words[at + 2]!] as number;
        let holds: unknown;
        if (typeof x === 'number') holds = x !== y;
        else {
          frame.pc = pc + 1;
          holds = binary('!==', x, y);
        }
        pc = holds ? pc + 3 : words[at + 3]!;
        continue;
      }
      case 66: {
        const x = R[words[at + 1]!];
        const y = values[words[at + 2]!] as number;
        let holds: unknown;
        if (typeof x === 'number') holds = (x & y) !== 0;
        else {
          frame.pc = pc + 1;
          holds = binary('&', x, y);
        }
        pc = holds ? pc + 3 : words[at + 3]!;
        continue;
      }
      case 70: // getProp
        frame.pc = pc;
        R[words[at + 1]!] = (R[words[at + 2]!] as Record<string, unknown>)[
          values[words[at + 3]!] as string
        ];
        pc++;
        continue;
      case 71: // setProp
        frame.pc = pc;
        (R[words[at + 1]!] as Record<string, unknown>)[values[words[at + 2]!] as string] =
          R[words[at + 3]!];
        pc++;
        continue;
      case 72: // getElem
        frame.pc = pc;
        R[words[at + 1]!] = (R[words[at + 2]!] as Record<string, unknown>)[
          R[words[at + 3]!] as string
        ];
        pc++;
        continue;
      case 73: // setElem
        frame.pc = pc;
        (R[words[at + 1]!] as Record<string, unknown>)[R[words[at + 2]!] as string] =
          R[words[at + 3]!];
        pc++;
        continue;
      case 74: {
        // iteratorNext
        frame.pc = pc;
        const record = asIterator(R[words[at + 2]!]);
        if (record.advance()) {
          R[words[at + 1]!] = record.current;
          pc++;
        } else pc = words[at + 3]!;
        continue;
      }
      case 75: // newCell
        R[words[at + 1]!] = { value: uninitialized } satisfies Cell;
        pc++;
        continue;
      case 76: // loadCell
        R[words[at + 1]!] = (R[words[at + 2]!] as Cell).value;
        pc++;
        continue;
      case 77: // storeCell
        (R[words[at + 1]!] as Cell).value = R[words[at + 2]!];
        pc++;
        continue;
      case 78: // outerCell
        R[words[at + 1]!] = frame.closure.cells[words[at + 2]!];
        pc++;
        continue;
      case 80: {
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
      case 81: {
        // call with a receiver, which stands before the arguments
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
