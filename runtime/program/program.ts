import type { UserPosition } from '../errors/position.ts';
import type { Attrs, OpRecord } from '../ops/core/define-op.ts';
import type { TensorMeta } from '../tensor/meta.ts';
import type { DynamicCall } from './dynamic-call.ts';

declare const valueBrand: unique symbol;
/** The one identity of a value, fixed at compile time and shared by forward and backward. */
export type ValueId = number & { readonly [valueBrand]: 'ValueId' };

/** One op of a program. `inputs` follow the record's operands; a `shape` operand names its value too. */
export interface ProgramOp {
  readonly op: OpRecord;
  readonly inputs: readonly ValueId[];
  readonly outputs: readonly ValueId[];
  readonly attrs: Attrs;
  /** False for ops inside noGrad: differentiation goes round them. */
  readonly recordsGrad: boolean;
  /** The user's line that asked for it; backward ops have the position of the op that they undo. */
  readonly at: UserPosition | undefined;
  /** Number of the call of `checkpoint` that it is in, the outermost one: backward makes its result again. */
  readonly checkpoint?: number;
  /** It computes gradients: part of a backward() or grad() inside the program. */
  readonly backward?: true;
  /** Of a write in place that gradients flow through: a copy of the target as it was, for backward. */
  readonly before?: ValueId;
  /** Of a fused op: the ops that it does in one launch, in their order, over the same values. */
  readonly parts?: readonly ProgramOp[];
  /** Of a control op: the programs in it. What they read of the outside are inputs of the op. */
  readonly regions?: readonly Region[];
  /** Of a call whose shapes only the run knows. */
  readonly call?: DynamicCall;
}

/** A program inside an op, with values of its own. */
export interface Region {
  readonly program: Program;
  /** Set where gradients flow through the op. */
  readonly joint: JointProgram | null;
}

/** Metas of all values, by id; forward and backward of one subgraph share one table. */
export type ValueTable = readonly TensorMeta[];

/** A straight line of ops in static single assignment form: every value is written once, before its uses. */
export interface Program {
  readonly values: ValueTable;
  readonly inputs: readonly ValueId[];
  readonly ops: readonly ProgramOp[];
  readonly outputs: readonly ValueId[];
}

/** Forward and backward in one straight line, before they are split. */
export interface JointProgram {
  /** Inputs: those of forward, then those that `gradOutputs` names. Outputs: all gradients. */
  readonly program: Program;
  /** The first ops are the forward program. */
  readonly forwardOps: number;
  readonly forwardInputs: readonly ValueId[];
  readonly forwardOutputs: readonly ValueId[];
  /**
   * Per forward output: the input that takes its gradient; null when it is not differentiable. Of a branch or
   * loop body then per forward input: the one that takes what has come to the operand before, for the region to
   * add its parts to one by one; null where it has one part at most.
   */
  readonly gradOutputs: readonly (ValueId | null)[];
  /** Forward outputs that are leaves which the program has made, and to which its gradients flow. */
  readonly leafOutputs: readonly number[];
  /** Per forward input, then per leaf: its gradient; null when none is needed or none flows there. */
  readonly gradInputs: readonly (ValueId | null)[];
  /** Per such gradient: where it has several parts, the values of their sum, part after part. */
  readonly sums: readonly (readonly ValueId[])[];
}
