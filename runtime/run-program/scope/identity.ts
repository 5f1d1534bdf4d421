/**
 * Identities of a run's values: two values are the same tensor if their identities are equal. Values at one location
 * are the same unless they are different views. A view has its own number and an input a negative one, which follow it
 * through branches, loops and lists.
 */

import type { Holder } from '../../device/holder.ts';
import type { Tensor } from '../../tensor/tensor.ts';

/** The identity of a value computed by an op: its location distinguishes it from all others. */
export const ownPlace = 0;

/** Returns the identity of program input `index`. */
export const identityOfInput = (index: number): number => -1 - index;

/** An upper bound on simultaneously live views. */
const mostViews = 2 ** 30;
let views = 0;

/** Returns the identity of a new view. */
export function identityOfView(): number {
  views = views === mostViews ? 1 : views + 1;
  return views;
}

/** The identities of handles to views or inputs. */
const identities = new WeakMap<Tensor, number>();

export function noteIdentity(tensor: Tensor, identity: number): void {
  if (identity !== ownPlace) identities.set(tensor, identity);
}

/** A value at the end of a run. */
interface Value {
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

/** Returns the input that is the same tensor as a value; undefined if there is none or the input was donated. */
export function inputThatIs({ identity }: Value, inputs: readonly Tensor[]): Tensor | undefined {
  const input = identity < 0 ? inputs[-1 - identity] : undefined;
  return input?.disposed === false ? input : undefined;
}
