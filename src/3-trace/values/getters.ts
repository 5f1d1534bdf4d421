/** Pre-existing getters, both the user's and built-in ones. */

import { isSizeGetter, isSpeciesGetter } from '../../guards/collection-slots.ts';
import { plainName } from '../../guards/plain.ts';
import type { Source } from '../../guards/source.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { asCollection, sizeOf } from '../heap/collections.ts';
import type { Tracer } from '../state/tracer.ts';
import { guardIdentity } from '../state/value-guards.ts';
import {
  type FunctionVariable,
  type ObjectVariable,
  undefinedVariable,
  type Variable,
} from '../variables/variable.ts';

/** Calls a getter. Its identity is guarded, and it is traced like any other call. */
export function callGetter(
  t: Tracer,
  holder: ObjectVariable | FunctionVariable,
  receiver: Variable,
  key: string | symbol,
  { get }: PropertyDescriptor,
): Variable {
  if (!get) return undefinedVariable;
  const base = holder.source ?? heldFunction(holder);
  const getter = t.read({ kind: 'accessor', base, key, which: 'get' }, get);
  const native = nativeGetter(t, receiver, get);
  if (native) {
    guardIdentity(t, getter as FunctionVariable);
    return native;
  }
  try {
    return t.execution.callInside(getter, receiver, []);
  } catch (error) {
    const native = error instanceof GraphBreak && error.reason === 'native-call';
    throw native ? new GraphBreak('getter', `reading ${String(key)}`) : error;
  }
}

/** Returns the result of a built-in getter that the trace models; undefined for other getters. */
function nativeGetter(t: Tracer, receiver: Variable, get: () => unknown): Variable | undefined {
  if (isSpeciesGetter(get)) return receiver;
  const counted = isSizeGetter(get) ? asCollection(t, receiver, 'Map', 'Set') : undefined;
  return counted && sizeOf(t, counted);
}

export function heldFunction({ value }: ObjectVariable | FunctionVariable): Source {
  const name = typeof value === 'function' ? plainName(value) : 'an object';
  return { kind: 'held', value, name };
}
