/**
 * The names of a run's values: a value that goes into a branch or loop, or comes out of one, is named, and its name goes
 * with it. Values of one name are one tensor, also after all of them are freed, as when backward reads the names.
 */

import type { Slot } from './scope.ts';

/** The name of a value that has been in one place only. */
export const noName = 0;

const mostNames = 2 ** 30;
let names = 0;

/** Names the value, unless it is. */
export function nameValue(slot: Slot): void {
  if (slot.name !== noName) return;
  names = names === mostNames ? 1 : names + 1;
  slot.name = names;
}

export const isSameName = (a: Slot, b: Slot): boolean => a.name !== noName && a.name === b.name;
