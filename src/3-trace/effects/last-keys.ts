/** The keys that a pre-existing object gets last, as a value that may differ between paths. */

import { known, type Variable } from '../variables/variable.ts';
import { joinOrders } from './join-orders.ts';

export interface LastKeys {
  /** New keys, and existing keys that were deleted before they were written, in insertion order. */
  readonly last: readonly string[];
  readonly gone: readonly string[];
}

export function asVariable(keys: LastKeys): Variable {
  return known(JSON.stringify(keys));
}

/** Undefined where the program chooses. */
export function lastKeysIn(order: Variable): LastKeys | undefined {
  return order.kind === 'constant' ? (JSON.parse(order.value as string) as LastKeys) : undefined;
}

/** A key that the object had already, and that moves on one path, stays where it was on no other. */
export function agreedLastKeys(orders: readonly Variable[], object: object): Variable | undefined {
  const all = orders.map(lastKeysIn);
  if (!all.every((each) => each !== undefined)) return undefined;
  const last = joinOrders(all.map((order) => order.last));
  const moves = last?.filter((key) => Object.hasOwn(object, key)) ?? [];
  const isMoved = (key: string) => (order: LastKeys) =>
    order.last.includes(key) || order.gone.includes(key);
  if (!last || !moves.every((key) => all.every(isMoved(key)))) return undefined;
  return asVariable({ last, gone: [] });
}
