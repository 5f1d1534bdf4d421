import type { KernelOp } from './kernel-op.ts';

/** One op of a list: the indices of its operands and results among those of the list. */
export interface ListItem {
  readonly op: KernelOp;
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
}

/** Pointwise ops on separate operands, such as the updates of all parameters, in one launch. */
export interface ListBody {
  readonly items: readonly ListItem[];
  /** Whether all ops have the same expressions, dtypes and numbers, so that one kernel runs over all their elements. */
  readonly areAlike: boolean;
  /** Indices of operands written in place. */
  readonly writes: readonly number[];
}
