import type { Attrs } from '../device/kernel-op.ts';
import type { TensorMeta } from '../device/tensor-meta.ts';
import type { UserPosition } from '../errors/position.ts';
import type { OpRecord } from '../ops/record/define-op.ts';
import type { DynamicCall } from './dynamic-call.ts';

declare const valueBrand: unique symbol;
/** Identifies a value, at compile time, in forward and backward alike. */
export type ValueId = number & { readonly [valueBrand]: 'ValueId' };

/** One op of a program. `inputs` correspond to the record's operands, including those with use `shape`. */
export interface ProgramOp {
  readonly op: OpRecord;
  readonly inputs: readonly ValueId[];
  readonly outputs: readonly ValueId[];
  readonly attrs: Attrs;
  /** False for ops inside noGrad: differentiation skips them. */
  readonly recordsGrad: boolean;
  /** The position in the user's code; a backward op has the position of its forward op. */
  readonly at: UserPosition | undefined;
  /** Number of the outermost `checkpoint` call around it: backward recomputes its result. */
  readonly checkpoint?: number;
  /** Whether it is part of a backward() or grad() inside the program. */
  readonly backward?: true;
  /** For one that may throw and runs again on the same operands: a result of the first time. This time it doesn't throw. */
  readonly again?: ValueId;
  /** For an in-place write that gradients flow through: a copy of the old target, for backward. */
  readonly before?: ValueId;
  /** For a fused op: the ops that it performs in one launch, in order, with the same values. */
  readonly parts?: readonly ProgramOp[];
  /** For a control op: the programs in it. Outer values that they read are inputs of the op. */
  readonly regions?: readonly Region[];
  /** For a call with data-dependent shapes. */
  readonly call?: DynamicCall;
}

/** A program inside an op, with its own values. */
export interface Region {
  readonly program: Program;
  /** Set if gradients flow through the op. */
  readonly joint: JointProgram | null;
}

/** Metas of all values, by id; forward and backward of one subgraph share one table. */
export type ValueTable = readonly TensorMeta[];

/** A list of ops in static single assignment form: every value is written once, before its uses. */
export interface Program {
  readonly values: ValueTable;
  readonly inputs: readonly ValueId[];
  readonly ops: readonly ProgramOp[];
  readonly outputs: readonly ValueId[];
}

/** A contribution to a gradient: which one, and the forward outputs that lead to it. */
export interface Arrival {
  /** Its number among the gradients of the inputs and leaves. */
  readonly target: number;
  readonly outputs: readonly number[];
}

/** Forward and backward in one list of ops, before they are split. */
export interface JointProgram {
  /** Inputs: those of forward, then those in `gradOutputs`. Outputs: all gradients. */
  readonly program: Program;
  /** The first ops are the forward program. */
  readonly forwardOps: number;
  readonly forwardInputs: readonly ValueId[];
  readonly forwardOutputs: readonly ValueId[];
  /**
   * The input with the gradient of each forward output; null if it is not differentiable. In a branch or loop body,
   * then for each forward input the one with the operand's earlier gradient contributions, to which the region adds
   * its own one by one; null if it has at most one.
   */
  readonly gradOutputs: readonly (ValueId | null)[];
  /** Forward outputs that are leaves created by the program, to which its gradients flow. */
  readonly leafOutputs: readonly number[];
  /** The gradient of each forward input, then of each leaf; null if it has none or needs none. */
  readonly gradInputs: readonly (ValueId | null)[];
  /** For each such gradient with several contributions, its partial sums in order. */
  readonly sums: readonly (readonly ValueId[])[];
  /**
   * The contributions that may complete these gradients, in eager order: of those that the given outputs lead to, the
   * last one of each. Empty: they are complete in the order of their numbers, or it is a branch or loop body.
   */
  readonly arrivals: readonly Arrival[];
}

/** Computes a fact once per program, not once per path to it: nested regions may be shared. Keeps no program alive. */
export function oncePerProgram<Fact>(fact: (program: Program) => Fact): (program: Program) => Fact {
  const known = new WeakMap<Program, Fact>();
  return (program) => {
    const found = known.get(program) ?? fact(program);
    known.set(program, found);
    return found;
  };
}
