/** Functions that the language looks up by its symbols, called by the user. */

import { constantOf } from '../state/facts.ts';
import { isInstance } from '../values/objects/instances.ts';
import { known, undefinedVariable } from '../variables/variable.ts';
import type { Builtin, BuiltinTable, HostFunction } from './builtin.ts';

/** `Array[Symbol.species]` is the receiver. */
const species: BuiltinTable = [
  ...[Array, Map, Set, RegExp, Promise, ArrayBuffer],
  Object.getPrototypeOf(Int32Array) as object,
].map((type) => [
  Object.getOwnPropertyDescriptor(type, Symbol.species)!.get as HostFunction,
  (_t, receiver) => receiver,
]);

/** `Function.prototype[Symbol.hasInstance]` */
const hasInstance: Builtin = (t, receiver, [value = undefinedVariable]) =>
  receiver.kind === 'function' ? isInstance(t, value, receiver) : undefined;

/** `symbol[Symbol.toPrimitive]()` */
const symbolItself: Builtin = (t, receiver) => {
  const value = receiver.kind === 'constant' ? constantOf(t, receiver) : undefined;
  return typeof value === 'symbol' ? known(value) : undefined;
};

export const symbolBuiltins: BuiltinTable = [
  ...species,
  [Function.prototype[Symbol.hasInstance] as unknown as HostFunction, hasInstance],
  [Symbol.prototype[Symbol.toPrimitive] as unknown as HostFunction, symbolItself],
];
