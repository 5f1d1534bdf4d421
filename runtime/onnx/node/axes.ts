import { integersIn, type Operand } from '../values/host.ts';
import { wrongSetting } from '../values/wrong-setting.ts';
import type { NodeFacts } from './node.ts';

/** A dimension counted from the start: negative ones count from the end. Throws ArgumentError outside of the rank. */
export function fromStart(axis: number, rank: number): number {
  const dim = axis < 0 ? axis + rank : axis;
  if (dim >= 0 && dim < rank) return dim;
  throw wrongSetting(`axis ${axis}`, `an axis of ${rank} dimensions`);
}

/** A place between dimensions: the rank itself is after the last one. */
export const placeAmong = (axis: number, rank: number): number =>
  axis === rank ? rank : fromStart(axis, rank);

/** Dimensions of an operand (of later opsets) or of an attribute; null: neither is there. */
export function axesOf(
  { attributes }: NodeFacts,
  operand: Operand | undefined,
): readonly number[] | null {
  return operand ? integersIn(operand) : attributes.ints('axes');
}
