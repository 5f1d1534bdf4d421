/** Promises created by captured code. Their reactions run after the graph has ended. */

import { arrayElements, asArray } from '../values/arrays.ts';
import { isOfArrayClass } from '../values/makes-arrays.ts';
import { newPromise } from '../values/objects/promises.ts';
import { isPristine } from '../values/protocols.ts';
import { specialized } from '../variables/unions.ts';
import type { PromiseMethod, Variable } from '../variables/variable.ts';
import type { Builtin, BuiltinTable, HostFunction } from './builtin.ts';

/**
 * Returns whether awaiting the value calls no user code: it is a promise created in the trace, or not a thenable.
 */
function isPlain(variable: Variable): boolean {
  const value = specialized(variable);
  return ['constant', 'symbolic', 'tensor', 'newPromise'].includes(value.kind);
}

/** `Promise.all([…])` and similar methods. */
const ofSeveral =
  (by: PromiseMethod): Builtin =>
  (t, receiver, [items]) => {
    if (!isPromise(receiver) || !items || isOfArrayClass(items) || t.isInRegion) return undefined;
    const array = asArray(t, items);
    if (!array || !isPristine(t, 'array') || !isPristine(t, 'promise')) return undefined;
    const values = arrayElements(t, array);
    return values.every(isPlain) ? newPromise(t, by, values) : undefined;
  };

const resolve: Builtin = (t, receiver, [value]) => {
  if (!isPromise(receiver) || !value || !isPlain(value) || t.isInRegion) return undefined;
  const argument = specialized(value);
  return argument.kind === 'newPromise' ? argument : newPromise(t, 'resolve', [value]);
};

const isPromise = (receiver: Variable): boolean =>
  receiver.kind === 'function' && (receiver.value as unknown) === Promise;

export const promiseBuiltins: BuiltinTable = [
  [Promise.all, ofSeveral('all')],
  [Promise.allSettled, ofSeveral('allSettled')],
  [Promise.any, ofSeveral('any')],
  [Promise.race, ofSeveral('race')],
  [Promise.resolve, resolve],
].map(([fn, builtin]) => [fn as HostFunction, builtin as Builtin] as const);
