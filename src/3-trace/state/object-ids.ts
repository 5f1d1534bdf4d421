import { getOrInsert } from '../../../runtime/collections/get-or-insert.ts';

const ids = new WeakMap<object, number>();
let nextId = 0;

/** Returns a number that is unique to the object. */
export function idOf(object: object): number {
  return getOrInsert(ids, object, () => nextId++);
}
