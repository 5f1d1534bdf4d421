import type { DType } from '../spec/dtype.ts';
import type { Shape } from '../spec/shape.ts';
import type { Attrs, KernelOp } from './kernel-op.ts';

/** An operand as rows that lie in equal steps; a step of 0 repeats one row. */
export interface RowSlice {
  /** Elements from row to row. */
  readonly step: number;
  /** Shape and strides of one row. */
  readonly shape: Shape;
  readonly strides: readonly number[];
}

/**
 * An op as `count` rows that don't depend on each other: over some neighbouring rows of its operands it computes
 * the same rows of its results, to the same bits.
 */
export interface RowCut {
  readonly count: number;
  /** Null: every row reads the whole operand. */
  readonly inputs: readonly (RowSlice | null)[];
  /** The results, or the target of a write in place. Null: a sum over all rows. */
  readonly outputs: readonly (RowSlice | null)[];
  /** Goes on with sums over rows in place, of which the first rows have made the op's results; takes these first. */
  readonly goesOn?: KernelOp;
  /** Attributes of the op over this many rows. */
  readonly attrs: (rows: number) => Attrs;
  /** Fewer rows at a time cost more, as what every row reads is read again for each call. */
  readonly least: number;
  /** Numbers that grow by so much from row to row, such as places in the stream of random ones. */
  readonly advances?: Readonly<Record<string, number>>;
}

/** Where a stage finds one of its operands, or puts a result. */
export type StagePlace =
  | { readonly kind: 'operand'; readonly index: number }
  | { readonly kind: 'result'; readonly index: number }
  /** Memory of a block of rows, which exists while the block is computed. */
  | { readonly kind: 'inner'; readonly slot: number };

/** One op of a staged one. */
export interface Stage {
  readonly op: KernelOp;
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
  /** A block has at least this many rows, if there are as many. */
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
