/**
 * Names of a run's values: a value that enters or leaves a branch or loop gets a name, which follows it. Values
 * with the same name are the same tensor, even after they are freed; backward compares the names.
 */

import type { Slot } from './scope.ts';

/** The name of a value that has never entered or left a branch or loop. */
export const noName = 0;

const mostNames = 2 ** 30;
let names = 0;

/** Names the value unless it has a name. */
export function nameValue(slot: Slot): void {
  if (slot.name !== noName) return;
  names = names === mostNames ? 1 : names + 1;
  slot.name = names;
}

export const isSameName = (a: Slot, b: Slot): boolean => a.name !== noName && a.name === b.name;
