import { numbersIn, type Operand } from '../values/host.ts';
import type { NodeFacts } from './node.ts';

/** A dimension counted from the end where it is negative. */
export const fromStart = (axis: number, rank: number): number => (axis < 0 ? axis + rank : axis);

/** Dimensions of an operand (of later opsets) or of an attribute; null: neither is there. */
export function axesOf(
  { attributes }: NodeFacts,
  operand: Operand | undefined,
): readonly number[] | null {
  return operand ? numbersIn(operand) : attributes.numbers('axes');
}
