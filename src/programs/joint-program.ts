import type { Program, ValueId } from '../../runtime/program/program.ts';

/** Forward and backward in one straight line, before they are split. */
export interface JointProgram {
  /** Inputs: those of forward, then one gradient per differentiable output. Outputs: all gradients. */
  readonly program: Program;
  /** The first ops are the forward program. */
  readonly forwardOps: number;
  readonly forwardInputs: readonly ValueId[];
  readonly forwardOutputs: readonly ValueId[];
  /** Per forward output: the input that takes its gradient; null when it is not differentiable. */
  readonly gradOutputs: readonly (ValueId | null)[];
  /** Per forward input: its gradient; null when none is needed or none flows there. */
  readonly gradInputs: readonly (ValueId | null)[];
}
