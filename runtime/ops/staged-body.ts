import type { DType } from '../tensor/dtype.ts';
import type { OpRecord } from './core/define-op.ts';
import type { RowCut } from './row-cuts.ts';

/** Where a stage finds one of its operands, or puts a result. */
export type StagePlace =
  | { readonly kind: 'operand'; readonly index: number }
  | { readonly kind: 'result'; readonly index: number }
  /** Memory of a block of rows, which exists while the block is computed. */
  | { readonly kind: 'inner'; readonly slot: number };

/** One op of a staged one. */
export interface Stage {
  readonly op: OpRecord;
  /** Its number among the parts, under which attributes of the staged op are its own. */
  readonly part: number;
  readonly cut: RowCut;
  readonly inputs: readonly StagePlace[];
  /** Where the results are; for a write in place, where its target is. */
  readonly outputs: readonly StagePlace[];
  /** Dtypes of the inputs, then of the outputs. */
  readonly dtypes: readonly DType[];
}

/**
 * The computation of a staged op as data: a few of its `rows` at a time go through all stages, so that values between
 * stages exist for these rows only.
 */
export interface StagedBody {
  readonly rows: number;
  /** A block has at least so many rows, if there are as many. */
  readonly least: number;
  readonly stages: readonly Stage[];
  /** Bytes of one row in each slot of inner memory. */
  readonly slots: readonly number[];
  /** Bytes of the longest row of any value. */
  readonly longestRow: number;
  /** Numbers of operands that are written in place. */
  readonly writes: readonly number[];
  /** For each result, the numbers of the operands whose memory it may take over. */
  readonly overwrites: readonly ReadonlySet<number>[];
}

/** Name of a stage's attribute among those of the staged op. */
export function stageAttr(part: number, name: string): string {
  return `${part}.${name}`;
}
