/** The last keys of a pre-existing object, as a value that may differ between paths. */

import { known, type Variable } from '../variables/variable.ts';
import { joinOrders } from './join-orders.ts';

interface LastKeys {
  /** New keys, and existing keys that were deleted before they were written, in insertion order. */
  readonly last: readonly string[];
  readonly gone: readonly string[];
}

export function asVariable(keys: LastKeys): Variable {
  return known(JSON.stringify(keys));
}

/** Returns undefined if the order is data-dependent. */
export function lastKeysIn(order: Variable): LastKeys | undefined {
  return order.kind === 'constant' ? (JSON.parse(order.value as string) as LastKeys) : undefined;
}

/**
 * Merges the paths' orders. Returns undefined if they conflict, or if a pre-existing key moves to the end only on some
 * paths.
 */
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
