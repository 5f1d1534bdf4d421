/** Methods that throw a TypeError if called on undefined or null. */

import { GraphBreak } from '../../../traces/graph-break.ts';
import type { Variable } from '../../variables/variable.ts';

const types = [Array, String, Number, Boolean, BigInt, Symbol, Map, Set, Date, RegExp];

const methods: ReadonlySet<unknown> = new Set(
  [...types.map((type) => type.prototype as object), Object.getPrototypeOf(Int8Array.prototype)]
    .flatMap((prototype: object) => Object.values(Object.getOwnPropertyDescriptors(prototype)))
    .map((each) => each.value as unknown)
    .filter((value) => typeof value === 'function' && !(types as unknown[]).includes(value)),
);

/** Breaks the graph if the method is called on undefined or null: natively, it throws. */
export function expectReceiver(fn: (...args: never[]) => unknown, receiver: Variable): void {
  const isMissing =
    receiver.kind === 'constant' && (receiver.value === undefined || receiver.value === null);
  if (isMissing && methods.has(fn)) {
    throw new GraphBreak('throw', `${fn.name} is called on ${String(receiver.value)}`);
  }
}
