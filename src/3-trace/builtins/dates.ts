/** Dates whose time is known while tracing. Results that depend on the time zone are guarded. */

import { dateMethodNames, readDate } from '../../guards/host-types.ts';
import { isProxy } from '../../guards/plain.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf, guardIdentity } from '../state/value-guards.ts';
import {
  byHost,
  changeHost,
  hostState,
  plainValues,
  readHost,
} from '../values/objects/host-objects.ts';
import { isPrimitiveVariable, ordinaryToPrimitive, toPrimitive } from '../values/to-primitive.ts';
import { specialized } from '../variables/unions.ts';
import { type FunctionVariable, known, type Variable } from '../variables/variable.ts';
import type { Builtin, BuiltinTable, HostFunction } from './builtin.ts';

const methods = Date.prototype as unknown as Readonly<Record<string, HostFunction>>;

const isUniversal = (name: string): boolean =>
  /^(get|set)UTC|^(to|get)?(valueOf|Time|ISOString|UTCString|GMTString)$/.test(name);

/**
 * Returns the result of a method without arguments, guarded if it depends on the time zone, which may differ in
 * the next call.
 */
function ask(t: Tracer, date: object, name: string): Variable {
  const value = byHost(t, () => readDate(date, name));
  if (isUniversal(name)) return known(value);
  const base = { kind: 'held', value: new Date(date as Date), name: 'a date' } as const;
  return t.read({ kind: 'query', base, query: 'date', key: name }, value);
}

/** Guards that the time zone has the same rules at this time. */
export function guardZone(t: Tracer, date: Date): void {
  constantOf(t, ask(t, date, 'toString'));
}

/** Guards each method of a pre-existing date separately, since the date may change. */
const asks =
  (name: string): Builtin =>
  (t, receiver, args) => {
    const date = hostState(t, receiver);
    if (args.length > 0) return asksWith(t, receiver, name, args);
    if (date.kind === 'newHost' && date.type === 'Date') return ask(t, date.value, name);
    if (date.kind !== 'object' || !isDate(t, date)) return undefined;
    const { value, source } = date;
    t.effects.met.touchContent(value, source);
    const read = (key: string): Variable =>
      t.read({ kind: 'query', base: source, query: 'date', key }, readDate(value, key));
    // Throws if the date is invalid.
    if (name === 'toISOString' && Number.isNaN(readDate(value, 'getTime'))) {
      constantOf(t, read('getTime'));
      return known(byHost(t, () => readDate(value, name)));
    }
    return read(name);
  };

/** Adds no guard: in a later call, methods of dates throw for other objects. */
export function isDate(t: Tracer, variable: Variable): boolean {
  const date = hostState(t, variable);
  if (date.kind === 'newHost') return date.type === 'Date';
  if (date.kind !== 'object' || isProxy(date.value)) return false;
  try {
    readDate(date.value, 'getTime');
    return true;
  } catch {
    return false;
  }
}

/** `date.toLocaleString('en', options)` */
function asksWith(
  t: Tracer,
  receiver: Variable,
  name: string,
  args: readonly Variable[],
): Variable | undefined {
  if (!name.startsWith('toLocale')) return asks(name)(t, receiver, []);
  const values = plainValues(t, args);
  const date = values && (readHost(t, receiver, 'Date') as Date | undefined);
  if (!date) return undefined;
  guardZone(t, date);
  return known(byHost(t, () => Reflect.apply(methods[name] as () => string, date, values)));
}

const changes =
  (name: string): Builtin =>
  (t, receiver, args) => {
    if (!args.every(isPrimitiveVariable)) return undefined;
    const values = args.map((arg) => constantOf(t, arg));
    const result = changeHost(t, receiver, 'Date', (value) => {
      const date = value as Date;
      const isLocal = !isUniversal(name) && name !== 'setTime';
      if (isLocal) guardZone(t, new Date(date));
      const time = byHost(t, () => Reflect.apply(methods[name] as () => number, date, values));
      if (isLocal) guardZone(t, new Date(date));
      return time;
    });
    return result === undefined ? undefined : known(result);
  };

/** `new Date(…)` with arguments; without arguments, the date depends on the clock. */
export function newDate(
  t: Tracer,
  callee: FunctionVariable,
  args: readonly Variable[],
): Variable | undefined {
  if (args.length === 0) return undefined;
  guardIdentity(t, callee);
  const [only] = args;
  const copied = args.length === 1 && readHost(t, only!, 'Date');
  if (copied) return { kind: 'newHost', type: 'Date', value: new Date(copied as Date) };
  const primitives = args.map((arg) =>
    toPrimitive(t, arg, args.length === 1 ? 'default' : 'number'),
  );
  const values = primitives.map((arg) => constantOf(t, arg)) as [number];
  const value = byHost(t, () => new Date(...values));
  const isTime = values.length === 1 && typeof values[0] !== 'string';
  if (!isTime) guardZone(t, value);
  return { kind: 'newHost', type: 'Date', value };
}

/** `date[Symbol.toPrimitive](hint)`, whose methods user code may override. */
const asPrimitive: Builtin = (t, receiver, [hint]) => {
  const value = specialized(receiver);
  if (value.kind !== 'newHost' && value.kind !== 'object') return undefined;
  if (!hint || !isPrimitiveVariable(hint)) return undefined;
  const preference = constantOf(t, hint);
  if (preference !== 'default' && preference !== 'string' && preference !== 'number')
    return undefined;
  return ordinaryToPrimitive(t, value, preference === 'number' ? 'number' : 'string');
};

const setters = Object.getOwnPropertyNames(Date.prototype).filter((name) => name.startsWith('set'));

export const dateBuiltins: BuiltinTable = [
  ...dateMethodNames.map((name) => [methods[name]!, asks(name)] as const),
  ...setters.map((name) => [methods[name]!, changes(name)] as const),
  [Date.prototype[Symbol.toPrimitive] as unknown as HostFunction, asPrimitive],
];
