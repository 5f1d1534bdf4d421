/**
 * The identities of a run's values: which ones are the same tensor. Those at one place are, unless they came about as
 * several views: a view has a number of its own, an input a negative one, which goes with the value through branches,
 * loops and lists.
 */

import type { Holder } from '../../device/holder.ts';
import type { Tensor } from '../../tensor/tensor.ts';

/** The identity of a value made by an op: its location distinguishes it from all others. */
export const ownPlace = 0;

/** The identity of input number `index` of the program. */
export const identityOfInput = (index: number): number => -1 - index;

/** More views than these are never alive at once. */
const mostViews = 2 ** 30;
let views = 0;

/** The identity of a new view. */
export function identityOfView(): number {
  views = views === mostViews ? 1 : views + 1;
  return views;
}

/** Handles on values that are views or inputs. */
const identities = new WeakMap<Tensor, number>();

export function noteIdentity(tensor: Tensor, identity: number): void {
  if (identity !== ownPlace) identities.set(tensor, identity);
}

/** A value at the end of a run. */
export interface Value {
  readonly holder: Holder | null;
  readonly offset: number;
  readonly identity: number;
}

export function valueIn(output: Tensor): Value {
  const { holder, offset } = output;
  return { holder, offset, identity: identities.get(output) ?? ownPlace };
}

export const isSameValue = (a: Value, b: Value): boolean =>
  a.identity === b.identity && a.holder === b.holder && a.offset === b.offset;

/** The input that a value is; undefined for others, and where the run was given its memory. */
export function inputThatIs({ identity }: Value, inputs: readonly Tensor[]): Tensor | undefined {
  const input = identity < 0 ? inputs[-1 - identity] : undefined;
  return input?.disposed === false ? input : undefined;
}
