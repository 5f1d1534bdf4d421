/** Functions under well-known symbols, when user code calls them. */

import { constantOf, isUndefined } from '../state/value-guards.ts';
import { isInstance } from '../values/objects/instances.ts';
import { isPrimitiveVariable, joinedText } from '../values/to-primitive.ts';
import { known, undefinedVariable } from '../variables/variable.ts';
import type { Builtin, BuiltinTable, HostFunction } from './builtin.ts';

/** `Array[Symbol.species]` returns its receiver. */
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

/** `Symbol(description)`: a new symbol in each run. */
const newSymbol: Builtin = (t, _receiver, [description = undefinedVariable]) => {
  if (t.isInRegion || !isPrimitiveVariable(description)) return undefined;
  const text = isUndefined(t, description)
    ? undefined
    : constantOf(t, joinedText(t, [description]));
  const symbol = Symbol(text as string | undefined);
  const variable = known(symbol);
  t.symbols.set(symbol, variable);
  return variable;
};

export const symbolBuiltins: BuiltinTable = [
  [Symbol as unknown as HostFunction, newSymbol],
  ...species,
  [Function.prototype[Symbol.hasInstance] as unknown as HostFunction, hasInstance],
  [Symbol.prototype[Symbol.toPrimitive] as unknown as HostFunction, symbolItself],
];
