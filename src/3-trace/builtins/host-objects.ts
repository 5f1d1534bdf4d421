/** Host objects that affect only themselves and their arguments: `URL`, text encoders, `Intl`. */

import type { HostTypeName } from '../../guards/host-types.ts';
import { isProxy } from '../../guards/plain.ts';
import { sourceKey } from '../../guards/source-key.ts';
import type { Tracer } from '../state/tracer.ts';
import { guardIdentity } from '../state/value-guards.ts';
import {
  byHost,
  changeHost,
  madeVariable,
  plainValues,
  readHost,
} from '../values/objects/host-objects.ts';
import { specialized } from '../variables/unions.ts';
import { type FunctionVariable, undefinedVariable, type Variable } from '../variables/variable.ts';
import type { Builtin, BuiltinTable, HostFunction } from './builtin.ts';
import { guardZone, newDate } from './dates.ts';

type Type = (new (...args: never[]) => object) & { readonly prototype: object };
type AnyFunction = (...args: unknown[]) => unknown;

/** Built-in types whose instances are immutable. */
const fixedTypes = (
  [
    TextEncoder,
    Intl.NumberFormat,
    Intl.Collator,
    Intl.PluralRules,
    Intl.RelativeTimeFormat,
    Intl.ListFormat,
    Intl.Locale,
    Intl.DisplayNames,
    Intl.DateTimeFormat,
    Intl.Segmenter,
    // Since Node 23.
    (Intl as { readonly DurationFormat?: unknown }).DurationFormat,
  ] as readonly (Type | undefined)[]
).filter((type) => type !== undefined);

const statefulTypes: ReadonlyMap<unknown, HostTypeName> = new Map<unknown, HostTypeName>([
  [URL, 'URL'],
  [URLSearchParams, 'URLSearchParams'],
]);

/**
 * `new URL(…)` and similar constructors; undefined for other types, and for arguments that are not known while
 * tracing.
 */
export function newHost(
  t: Tracer,
  callee: FunctionVariable,
  args: readonly Variable[],
): Variable | undefined {
  const hostType: unknown = callee.value;
  if (hostType === Date) return newDate(t, callee, args);
  const type = statefulTypes.get(hostType);
  const isFixed = (fixedTypes as readonly unknown[]).includes(hostType);
  if (!type && !isFixed) return undefined;
  const values = plainValues(t, args);
  if (!values) return undefined;
  guardIdentity(t, callee);
  const build = () => Reflect.construct(hostType as Type, values) as object;
  const value = byHost(t, build);
  if (hostType === Intl.DateTimeFormat) guardZone(t, new Date(0));
  return type ? { kind: 'newHost', type, value } : { kind: 'newHost', type: null, value, build };
}

/** Returns the instance of a variable if it has the given type. */
function fixedHost(t: Tracer, argument: Variable, { prototype }: Type): object | undefined {
  const variable = specialized(argument);
  if (variable.kind !== 'newHost' && variable.kind !== 'object') return undefined;
  const { value } = variable;
  if (isProxy(value) || Object.getPrototypeOf(value) !== prototype) return undefined;
  if (variable.kind === 'object') {
    const { source } = variable;
    t.guard(`identity ${sourceKey(source)}`, { kind: 'identity', source, value });
  }
  return value;
}

const ofFixed =
  (type: Type, fn: AnyFunction): Builtin =>
  (t, receiver, args) => {
    const values = plainValues(t, args);
    const value = values && !asksForNow(type, fn, values) && fixedHost(t, receiver, type);
    if (!value) return undefined;
    return madeVariable(
      t,
      byHost(t, () => Reflect.apply(fn, value, values)),
    );
  };

/** Returns methods and getters of the prototype. */
function functionsOf(prototype: object, names: readonly string[]): AnyFunction[] {
  return names.flatMap((name) => {
    const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
    const fn = (descriptor?.get ?? descriptor?.value) as unknown;
    return typeof fn === 'function' ? [fn as AnyFunction] : [];
  });
}

const namesOf = (prototype: object, except: readonly string[]): string[] =>
  Object.getOwnPropertyNames(prototype).filter((name) => !except.includes(name));

/** Methods that write to their arguments or return objects of other types. */
const otherMethods = ['constructor', 'encodeInto', 'segment'];

/** Getters that return functions bound to their instance. */
const boundGetters: readonly (readonly [Type, string])[] = [
  [Intl.NumberFormat as unknown as Type, 'format'],
  [Intl.DateTimeFormat as unknown as Type, 'format'],
  [Intl.Collator as unknown as Type, 'compare'],
];

/** The bound functions that were returned. */
const boundFunctions = new WeakMap<object, Builtin>();

/** Returns the builtin for a native function that is bound to an object. */
export const boundBuiltin = (fn: object): Builtin | undefined => boundFunctions.get(fn);

const bound =
  (type: Type, name: string): Builtin =>
  (t, receiver) => {
    const value = fixedHost(t, receiver, type);
    if (!value) return undefined;
    const fn = Reflect.get(value, name) as AnyFunction;
    boundFunctions.set(fn, (inner, _receiver, args) => {
      const values = plainValues(inner, args);
      if (!values || isAskedForNow(type, values)) return undefined;
      return madeVariable(
        inner,
        byHost(inner, () => fn(...values)),
      );
    });
    return { kind: 'function', value: fn as FunctionVariable['value'], source: null };
  };

/** By default, dates are formatted at the current time. */
const isAskedForNow = (type: Type, [date]: readonly unknown[]): boolean =>
  (type as unknown) === Intl.DateTimeFormat && date === undefined;

const asksForNow = (type: Type, fn: AnyFunction, values: readonly unknown[]): boolean =>
  fn.name === 'formatToParts' && isAskedForNow(type, values);

const fixedRows: BuiltinTable = fixedTypes.flatMap((type) =>
  functionsOf(type.prototype, namesOf(type.prototype, otherMethods)).map(
    (fn) => [fn as HostFunction, ofFixed(type, fn)] as const,
  ),
);

const boundRows: BuiltinTable = boundGetters.map(([type, name]) => {
  const { get } = Object.getOwnPropertyDescriptor(type.prototype, name)!;
  return [get as HostFunction, bound(type, name)] as const;
});

/** Native functions that depend only on plain data. */
const statics: readonly unknown[] = [
  ...[atob, btoa, Intl.getCanonicalLocales, Intl.supportedValuesOf],
  ...[Reflect.get(URL, 'canParse'), Reflect.get(URL, 'parse')],
  ...fixedTypes.map((type) => Reflect.get(type, 'supportedLocalesOf') as unknown),
].filter((fn) => typeof fn === 'function');

const staticRows: BuiltinTable = statics.map((fn) => [
  fn as HostFunction,
  (t, _receiver, args) => {
    const values = plainValues(t, args);
    return (
      values &&
      madeVariable(
        t,
        byHost(t, () => (fn as AnyFunction)(...values)),
      )
    );
  },
]);

const reads =
  (type: HostTypeName, fn: AnyFunction): Builtin =>
  (t, receiver, args) => {
    const values = plainValues(t, args);
    const value = values && readHost(t, receiver, type);
    return (
      value &&
      madeVariable(
        t,
        byHost(t, () => Reflect.apply(fn, value, values)),
      )
    );
  };

const changes =
  (type: HostTypeName, fn: AnyFunction): Builtin =>
  (t, receiver, args) => {
    const values = plainValues(t, args);
    const changed =
      values &&
      changeHost(t, receiver, type, (value) => {
        byHost(t, () => Reflect.apply(fn, value, values));
        return true;
      });
    return changed ? undefinedVariable : undefined;
  };

const addressParts = [
  ...['href', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname'],
  ...['search', 'hash'],
];

const setterOf = (prototype: object, name: string): AnyFunction =>
  Object.getOwnPropertyDescriptor(prototype, name)!.set as AnyFunction;

type Rows = readonly (readonly [AnyFunction, Builtin])[];

const statefulRows: Rows = [
  ...functionsOf(URL.prototype, ['origin', 'toString', 'toJSON', ...addressParts]).map(
    (fn) => [fn, reads('URL', fn)] as const,
  ),
  ...addressParts.map((name) => {
    const set = setterOf(URL.prototype, name);
    return [set, changes('URL', set)] as const;
  }),
  ...functionsOf(URLSearchParams.prototype, ['get', 'getAll', 'has', 'size', 'toString']).map(
    (fn) => [fn, reads('URLSearchParams', fn)] as const,
  ),
  ...functionsOf(URLSearchParams.prototype, ['append', 'delete', 'set', 'sort']).map(
    (fn) => [fn, changes('URLSearchParams', fn)] as const,
  ),
];

export const hostBuiltins: BuiltinTable = [
  ...fixedRows,
  ...boundRows,
  ...staticRows,
  ...statefulRows.map(([fn, builtin]) => [fn as HostFunction, builtin] as const),
];
