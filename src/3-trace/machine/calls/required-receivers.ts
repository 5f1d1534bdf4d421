/** Methods that throw a TypeError for some receivers. */

import { isTypedArray, typedArrayPrototype } from '../../../guards/types/typed-array-types.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import type { Tracer } from '../../state/tracer.ts';
import { guardTypedArray } from '../../values/outer-typed-arrays.ts';
import { kindName } from '../../variables/kind-names.ts';
import type { Variable } from '../../variables/variable.ts';

const types = [Array, String, Number, Boolean, BigInt, Symbol, Map, Set, Date, RegExp];

function functionsOf(prototype: object): unknown[] {
  return Object.values(Object.getOwnPropertyDescriptors(prototype))
    .flatMap(({ value, get }) => [value as unknown, get])
    .filter((value) => typeof value === 'function' && !(types as unknown[]).includes(value));
}

const methods: ReadonlySet<unknown> = new Set(
  [...types.map((type) => type.prototype as object), typedArrayPrototype].flatMap(functionsOf),
);

/** Methods and getters that accept only typed arrays. `toString` is the one of arrays. */
const ofTypedArrays: ReadonlySet<unknown> = new Set(
  functionsOf(typedArrayPrototype).filter((fn) => fn !== Array.prototype.toString),
);

/** Breaks the graph if the method natively throws for the receiver. Guards that the receiver is accepted. */
export function expectReceiver(
  t: Tracer,
  fn: (...args: never[]) => unknown,
  receiver: Variable,
): void {
  const isMissing =
    receiver.kind === 'constant' && (receiver.value === undefined || receiver.value === null);
  if (isMissing && methods.has(fn)) {
    throw new GraphBreak('throw', `${fn.name} is called on ${String(receiver.value)}`);
  }
  if (!ofTypedArrays.has(fn) || receiver.kind === 'newTypedArray') return;
  const isAccepted =
    (receiver.kind === 'object' || receiver.kind === 'newHost') && isTypedArray(receiver.value);
  if (!isAccepted) throw new GraphBreak('throw', `${fn.name} is called on ${kindName(receiver)}`);
  guardTypedArray(t, receiver);
}
