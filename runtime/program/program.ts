import type { UserPosition } from '../errors/position.ts';
import type { Attrs, OpRecord } from '../ops/define-op.ts';
import type { TensorMeta } from '../tensor/meta.ts';

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
