import type { DType } from '../spec/dtype.ts';
import type { Shape } from '../spec/shape.ts';
import type { Attrs, KernelOp } from './kernel-op.ts';

/** An operand as evenly spaced rows; a step of 0 repeats one row. */
export interface RowSlice {
  /** The number of elements between rows. */
  readonly step: number;
  /** The shape and strides of one row. */
  readonly shape: Shape;
  readonly strides: readonly number[];
}

/**
 * An op divided into `count` independent rows: from consecutive rows of its operands it computes the same rows of
 * its results, bitwise identical.
 */
export interface RowCut {
  readonly count: number;
  /** Null if every row reads the whole operand. */
  readonly inputs: readonly (RowSlice | null)[];
  /** The results, or the target of an in-place write. Null for a sum over all rows. */
  readonly outputs: readonly (RowSlice | null)[];
  /** The op that continues, in place, sums over the first rows, which are its first operands. */
  readonly accumulate?: KernelOp;
  /** Returns the attributes of the op over this many rows. */
  readonly attrs: (rows: number) => Attrs;
  /** The minimum number of rows per call: with fewer rows, operands that every row reads would be reread too often. */
  readonly least: number;
  /** The increments per row of attributes such as positions in the random stream. */
  readonly advances?: Readonly<Record<string, number>>;
}

/** The location of a stage's operand or result. */
export type StagePlace =
  | { readonly kind: 'operand'; readonly index: number }
  | { readonly kind: 'result'; readonly index: number }
  /** Memory of a block of rows, which exists while the block is computed. */
  | { readonly kind: 'inner'; readonly slot: number };

/** One op of a staged op. */
export interface Stage {
  readonly op: KernelOp;
  /** The index among the parts, which prefixes its attributes in the staged op. */
  readonly part: number;
  readonly cut: RowCut;
  readonly inputs: readonly StagePlace[];
  /** The locations of the results; for an in-place write, of its target. */
  readonly outputs: readonly StagePlace[];
  /** The dtypes of the inputs, then of the outputs. */
  readonly dtypes: readonly DType[];
}

/**
 * The computation of a staged op as data: all stages run on a block of its `rows` before the next block, so
 * intermediate values exist for one block only.
 */
export interface StagedBody {
  readonly rows: number;
  /** The minimum number of rows per block, if there are that many. */
  readonly least: number;
  readonly stages: readonly Stage[];
  /** Bytes per row in each slot of inner memory. */
  readonly slots: readonly number[];
  /** Bytes of the longest row of any value. */
  readonly longestRow: number;
  /** Indices of operands written in place. */
  readonly writes: readonly number[];
  /** For each result, the indices of operands whose memory it may reuse. */
  readonly overwrites: readonly ReadonlySet<number>[];
}

/** Returns the name of a stage's attribute in the staged op. */
export function stageAttr(part: number, name: string): string {
  return `${part}.${name}`;
}
