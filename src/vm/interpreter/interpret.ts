import type { Code } from '../bytecode/code.ts';
import type { Frame } from '../bytecode/frame.ts';
import type { Instruction, Pc } from '../bytecode/instructions.ts';
import { blankRegisters } from '../frames/activation.ts';
import type { Machine, MachineFor } from '../frames/machine.ts';
import { stopped } from '../frames/stopped.ts';
import { Suspended } from '../frames/suspended.ts';
import { catchIn } from '../frames/unwind.ts';
import { nextPc, perform } from './handlers.ts';
import { type PackedCode, packedCode } from './packed-code.ts';
import { pausing, runPacked } from './run-packed.ts';

/** Executes an instruction that isn't packed. */
const rare = (frame: Frame, pc: Pc, machineFor: MachineFor): Pc => {
  const instruction = frame.closure.code.instructions[pc]!;
  if (instruction.op === 'return' || pauses(instruction)) return pausing;
  return nextPc(frame, instruction, machineFor);
};

/**
 * Returns a machine that runs frames of a code to their return or suspension, without hooks and without generated
 * code.
 */
export function interpreterOf(code: Code, machineFor: MachineFor): Machine {
  let packed: PackedCode | undefined;
  return (frame) => {
    packed ??= packedCode(code);
    if (frame.registers.length === 0) frame.registers = blankRegisters(code.registerCount);
    for (;;) {
      try {
        const value = runPacked(frame, packed, rare, machineFor);
        const instruction = code.instructions[frame.pc]!;
        if (instruction.op === 'return') return value;
        return suspended(frame, instruction as Suspending);
      } catch (error) {
        if (!catchIn(frame, frame.pc, error)) throw error;
      }
    }
  };
}

/**
 * Executes one instruction. Returns `stopped` if the frame continues after it, otherwise the same as a machine.
 */
export function interpretOne(frame: Frame, machineFor: MachineFor): unknown {
  const instruction = frame.closure.code.instructions[frame.pc]!;
  if (instruction.op === 'return') return frame.registers[instruction.src];
  if (pauses(instruction)) return suspended(frame, instruction);
  try {
    perform(frame, instruction, machineFor);
  } catch (error) {
    if (!catchIn(frame, frame.pc, error)) throw error;
  }
  return stopped;
}

type Suspending = Extract<Instruction, { op: 'await' | 'yield' | 'generatorStart' }>;

const pauses = (instruction: Exclude<Instruction, { op: 'return' }>): instruction is Suspending =>
  instruction.op === 'await' || instruction.op === 'yield' || instruction.op === 'generatorStart';

const suspended = (frame: Frame, instruction: Suspending): Suspended =>
  new Suspended('src' in instruction ? frame.registers[instruction.src] : undefined);
