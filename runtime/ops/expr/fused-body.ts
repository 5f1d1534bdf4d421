import type { DType } from '../../spec/dtype.ts';
import type { Shape } from '../../spec/shape.ts';
import type { Expr } from './expr.ts';

/** An operand of a part of a fused op: an operand of the fused op, or the result of an earlier part. */
export type FusedOperand = { readonly operand: number } | { readonly part: number };

/** One pointwise op of a fused op, computed per element. */
export interface FusedPart {
  readonly expr: Expr;
  readonly operands: readonly FusedOperand[];
  /** The dtype to which the result is rounded before another part reads it, as if stored. */
  readonly dtype: DType;
}

/**
 * The computation of a fused op as data: pointwise ops over elements of one shape, in topological order. The
 * number `value` of part 2 is the fused op's attribute `2.value`.
 */
export interface FusedBody {
  readonly shape: Shape;
  readonly parts: readonly FusedPart[];
  /** The part that computes each result of the fused op. */
  readonly results: readonly number[];
  /** Operands written in place, with the part whose result each receives. */
  readonly writes: readonly { readonly operand: number; readonly part: number }[];
}

/** Returns the name of a fused op's attribute. */
export function fusedAttr(part: number, name: string): string {
  return `${part}.${name}`;
}

/** Returns the indices of operands written in place. */
export function writtenByFused({ writes }: FusedBody): readonly number[] {
  return writes.map(({ operand }) => operand);
}
