import type { Code } from '../bytecode/code.ts';
import type { Frame } from '../bytecode/frame.ts';
import type { Pc } from '../bytecode/instructions.ts';
import { liveBefore } from '../bytecode/liveness.ts';
import { blankRegisters } from '../frames/activation.ts';
import { copyFrameState } from '../frames/copy-frame-state.ts';
import type { Machine, MachineFor } from '../frames/machine.ts';
import { stopped } from '../frames/stopped.ts';
import { Suspended } from '../frames/suspended.ts';
import { interpretOne } from '../interpreter/interpret.ts';

type Compile = (
  code: Code,
  entries: readonly Pc[],
  shape: 'stops',
  machineFor: MachineFor,
) => Machine;

/**
 * A machine for which every instruction is a resume point: after each instruction the frame is data, and a copy with
 * only the live registers continues. Shows that no other state is needed.
 */
export function stopsEverywhere(
  code: Code,
  machineFor: MachineFor,
  compile: Compile | undefined,
): Machine {
  const live = liveBefore(code);
  let machine: Machine | undefined;
  const step = (frame: Frame): unknown => {
    if (!compile) return interpretOne(frame, machineFor);
    machine ??= compile(code, [...code.instructions.keys()], 'stops', machineFor);
    return machine(frame);
  };
  const copyOf = (frame: Frame): Frame => {
    const registers = blankRegisters(code.registerCount);
    for (const register of live[frame.pc]!) registers[register] = frame.registers[register];
    return { ...frame, registers };
  };
  return (frame) => {
    if (frame.registers.length === 0) frame.registers = blankRegisters(code.registerCount);
    let current = frame;
    for (;;) {
      const result = step(current);
      if (result === stopped) {
        current = copyOf(current);
        continue;
      }
      if (Suspended.is(result)) copyFrameState(current, frame);
      return result;
    }
  };
}
