import { integersIn, type Operand } from '../values/host.ts';
import { wrongSetting } from '../values/wrong-setting.ts';
import type { NodeFacts } from './node.ts';

/** Returns the dimension counted from the start, also for negative ones. Throws ArgumentError if out of range. */
export function fromStart(axis: number, rank: number): number {
  const dim = axis < 0 ? axis + rank : axis;
  if (dim >= 0 && dim < rank) return dim;
  throw wrongSetting(`axis ${axis}`, `an axis of ${rank} dimensions`);
}

/** Returns a position between dimensions; the rank itself is after the last one. */
export const placeAmong = (axis: number, rank: number): number =>
  axis === rank ? rank : fromStart(axis, rank);

/** Returns dimensions from an operand (later opsets) or an attribute; null if there are neither. */
export function axesOf(
  { attributes }: NodeFacts,
  operand: Operand | undefined,
): readonly number[] | null {
  return operand ? integersIn(operand) : attributes.ints('axes');
}
