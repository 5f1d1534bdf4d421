import type { KernelOp } from './kernel-op.ts';

/** One op of a list: its operands and results by their numbers among those of the list. */
export interface ListItem {
  readonly op: KernelOp;
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
}

/** Pointwise ops on operands of their own, such as the updates of all parameters, in one launch. */
export interface ListBody {
  readonly items: readonly ListItem[];
  /** All have the same expressions, dtypes and numbers: one kernel runs over the elements of all. */
  readonly areAlike: boolean;
  /** Numbers of operands that are written in place. */
  readonly writes: readonly number[];
}
