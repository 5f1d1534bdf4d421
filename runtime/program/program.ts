import type { Attrs } from '../device/kernel-op.ts';
import type { TensorMeta } from '../device/tensor-meta.ts';
import type { UserPosition } from '../errors/position.ts';
import type { OpRecord } from '../ops/record/define-op.ts';
import type { DynamicCall } from './dynamic-call.ts';

declare const valueBrand: unique symbol;
/** Identifies a value at compile time, in forward and backward alike. */
export type ValueId = number & { readonly [valueBrand]: 'ValueId' };

/** One op of a program. `inputs` correspond to the record's operands, including those with use `shape`. */
export interface ProgramOp {
  readonly op: OpRecord;
  readonly inputs: readonly ValueId[];
  readonly outputs: readonly ValueId[];
  readonly attrs: Attrs;
  /** False for ops inside noGrad: differentiation skips them. */
  readonly recordsGrad: boolean;
  /** The position in user code; a backward op has the position of its forward op. */
  readonly at: UserPosition | undefined;
  /** The number of the outermost enclosing `checkpoint` call: backward recomputes the result. */
  readonly checkpoint?: number;
  /** Whether the op belongs to a backward() or grad() inside the program. */
  readonly backward?: true;
  /** For a rematerialized op that could throw: a result of its first run, which succeeded on the same operands. */
  readonly again?: ValueId;
  /** For a recorded in-place write: a copy of the old target, for backward. */
  readonly before?: ValueId;
  /** For a fused op: the ops that it performs in one launch, in order, with the same values. */
  readonly parts?: readonly ProgramOp[];
  /** For a control op: its programs. Outer values that they read are inputs of the op. */
  readonly regions?: readonly Region[];
  /** Set for a call with data-dependent shapes. */
  readonly call?: DynamicCall;
}

/** A program inside an op, with its own values. */
export interface Region {
  readonly program: Program;
  /** Set if gradients flow through the op. */
  readonly joint: JointProgram | null;
}

/** The metas of all values, by id; forward and backward of one subgraph share one table. */
export type ValueTable = readonly TensorMeta[];

/** A list of ops in static single assignment form: every value is defined once, before its uses. */
export interface Program {
  readonly values: ValueTable;
  readonly inputs: readonly ValueId[];
  readonly ops: readonly ProgramOp[];
  readonly outputs: readonly ValueId[];
}

/** A contribution to a gradient: its target, and the forward outputs that lead to it. */
export interface GradientContribution {
  /** The index among the gradients of the inputs and leaves. */
  readonly target: number;
  readonly outputs: readonly number[];
}

/** Forward and backward as one list of ops, before they are split. */
export interface JointProgram {
  /** Inputs: forward's, then `gradOutputs`. Outputs: all gradients. */
  readonly program: Program;
  /** The number of leading ops that are the forward program. */
  readonly forwardOps: number;
  readonly forwardInputs: readonly ValueId[];
  readonly forwardOutputs: readonly ValueId[];
  /**
   * The input with the gradient of each forward output; null if the output is not differentiable. In a branch or
   * loop body, followed for each forward input by the input with the operand's earlier gradient contributions, to
   * which the region adds its own one by one; null if it has at most one contribution.
   */
  readonly gradOutputs: readonly (ValueId | null)[];
  /** Forward outputs that are leaves created by the program and receive gradients. */
  readonly leafOutputs: readonly number[];
  /** The gradient of each forward input, then of each leaf; null if it has none or needs none. */
  readonly gradInputs: readonly (ValueId | null)[];
  /** The partial sums, in order, of each such gradient with several contributions. */
  readonly sums: readonly (readonly ValueId[])[];
  /**
   * The contributions that may complete these gradients, in eager order: a gradient is complete at the last
   * contribution that the given outputs lead to. Empty if they complete in index order, or in a branch or loop
   * body.
   */
  readonly arrivals: readonly GradientContribution[];
}

/** Memoizes a fact per program, because nested regions may be shared. Keeps no program alive. */
export function oncePerProgram<Fact>(fact: (program: Program) => Fact): (program: Program) => Fact {
  const known = new WeakMap<Program, Fact>();
  return (program) => {
    const found = known.get(program) ?? fact(program);
    known.set(program, found);
    return found;
  };
}
