import type { InstructionOf, Opcode, Pc, Reg } from '../../../vm/bytecode/instructions.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import { resolved } from '../../variables/unions.ts';
import { undefinedVariable, type Variable } from '../../variables/variable.ts';

/**
 * Executes one instruction on variables. Returns the next pc, or nothing to continue with the following
 * instruction. Throws GraphBreak before changing anything.
 */
export type Handler<O extends Opcode> = (
  tracer: Tracer,
  frame: TraceFrame,
  instruction: InstructionOf<O>,
  // biome-ignore lint/suspicious/noConfusingVoidType: most handlers return nothing.
) => Pc | void;

export type Handlers<O extends Opcode> = { readonly [K in O]: Handler<K> };

export function get(frame: TraceFrame, reg: Reg): Variable {
  return resolved(frame.registers[reg] ?? undefinedVariable);
}

export function set(frame: TraceFrame, reg: Reg, variable: Variable): void {
  frame.registers[reg] = variable;
}
