/** Typed array methods, run on arrays created in the trace, whose numbers are known. */

import { isProxy, readsPlainly } from '../../guards/plain.ts';
import { sourceKey } from '../../guards/source-key.ts';
import {
  type TypedArrayConstructor,
  typedArrayTypes,
} from '../../guards/types/typed-array-types.ts';
import { keepBytes } from '../heap/buffers.ts';
import { orRaise } from '../state/exceptions.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf, sourceOf } from '../state/value-guards.ts';
import { expand } from '../values/iterators.ts';
import { readProperty } from '../values/properties.ts';
import { isPrimitiveVariable } from '../values/to-primitive.ts';
import { filled, typedArrayVariable } from '../values/typed-arrays.ts';
import { specialized } from '../variables/unions.ts';
import {
  known,
  type NewTypedArrayVariable,
  type ObjectVariable,
  undefinedVariable,
  type Variable,
} from '../variables/variable.ts';
import { isSmallArray, iterated } from './arrays.ts';
import type { Builtin, BuiltinTable, HostFunction } from './builtin.ts';

const prototype = Object.getPrototypeOf(Int32Array.prototype) as Record<string, HostFunction>;

type Body = (
  t: Tracer,
  array: NewTypedArrayVariable,
  values: readonly (string | number | boolean | null | undefined)[],
) => Variable | undefined;

/** A method with primitive arguments, on a typed array created in the trace. */
function onMade(body: Body): Builtin {
  return (t, receiver, args) => {
    if (receiver.kind !== 'newTypedArray' || !args.every(isPrimitiveVariable)) return undefined;
    const values = args.map((arg) => constantOf(t, arg) as number);
    return body(t, receiver, values);
  };
}

/** Also accepts pre-existing arrays, each element of which is guarded; `body` must not change the array. */
function onAny(body: Body): Builtin {
  const onNew = onMade(body);
  return (t, receiver, args) => {
    const array = receiver.kind === 'object' ? copyOfOuter(t, receiver) : receiver;
    return array && onNew(t, array, args);
  };
}

function apply(t: Tracer, name: string, { data }: NewTypedArrayVariable, args: readonly unknown[]) {
  return orRaise(t, () => Reflect.apply(prototype[name] as () => unknown, data, args));
}

const asks = (name: string): Builtin =>
  onAny((t, array, args) => known(apply(t, name, array, args) as number));

const copies = (name: string): Builtin =>
  onAny((t, array, args) => typedArrayVariable(t, apply(t, name, array, args)));

const changes = (name: string): Builtin =>
  onMade((t, array, args) => {
    keepBytes(t, array.data, array.madeIn);
    apply(t, name, array, args);
    return array;
  });

/** Returns a copy of a pre-existing typed array, each element of which is guarded; undefined for other objects. */
function copyOfOuter(t: Tracer, variable: ObjectVariable): NewTypedArrayVariable | undefined {
  const { value } = variable;
  if (Array.isArray(value) || !isSmallArray(value)) return undefined;
  const type = Object.getPrototypeOf(value) as { readonly constructor: unknown };
  if (!readsPlainly(type, 'constructor') || !typedArrayTypes.has(type.constructor))
    return undefined;
  const base = { kind: 'prototypeOf', base: variable.source } as const;
  t.guard(`identity ${sourceKey(base)}`, { kind: 'identity', source: base, value: type });
  const items = Array.from({ length: lengthOf(t, variable) }, (_, i) =>
    readProperty(t, variable, String(i)),
  );
  return filled(t, type.constructor as TypedArrayConstructor, items);
}

function lengthOf(t: Tracer, variable: ObjectVariable): number {
  return Number(constantOf(t, readProperty(t, variable, 'length')));
}

/** `array.set(items, offset)` */
const setItems: Builtin = (t, receiver, [items, offset = known(0)]) => {
  if (receiver.kind !== 'newTypedArray' || !items || isPrimitiveVariable(items)) return undefined;
  const numbers = expand(t, items).map((item) => constantOf(t, item));
  const start = constantOf(t, offset);
  keepBytes(t, receiver.data, receiver.madeIn);
  apply(t, 'set', receiver, [numbers, start]);
  return undefinedVariable;
};

/** `ArrayBuffer.isView(value)` */
const isView: Builtin = (t, _receiver, [argument = undefinedVariable]) => {
  const variable = specialized(argument);
  if (variable.kind === 'object' && isProxy(variable.value)) return undefined;
  const isMade = variable.kind === 'newTypedArray' || variable.kind === 'newHost';
  const value = variable.kind === 'object' || variable.kind === 'newHost' ? variable.value : null;
  const is = variable.kind === 'newTypedArray' || ArrayBuffer.isView(value);
  const base = sourceOf(variable);
  if (isMade || !base) return known(is);
  // Another call may pass a value of another type.
  return t.read({ kind: 'query', base, query: 'isView', key: undefined }, is);
};

const getterOf = (name: string): HostFunction =>
  Object.getOwnPropertyDescriptor(prototype, name)!.get as HostFunction;

/** Getters, which are guarded for pre-existing arrays. */
const measures =
  (name: 'length' | 'byteLength' | 'byteOffset'): Builtin =>
  (t, receiver) => {
    if (receiver.kind === 'newTypedArray') return known(receiver.data[name]);
    if (receiver.kind !== 'object' || !ArrayBuffer.isView(receiver.value)) return undefined;
    if (Object.hasOwn(receiver.value, name)) return undefined;
    const { value, source } = receiver;
    return t.read({ kind: 'property', base: source, key: name }, (value as Uint8Array)[name]);
  };

/** `array[Symbol.toStringTag]` */
const tag: Builtin = (t, receiver) => {
  if (receiver.kind === 'newTypedArray') return known(receiver.data[Symbol.toStringTag]);
  if (isPrimitiveVariable(receiver)) return undefinedVariable;
  const array = receiver.kind === 'object' ? copyOfOuter(t, receiver) : undefined;
  return array && known(array.data[Symbol.toStringTag]);
};

const rows = (names: readonly string[], builtin: (name: string) => Builtin): BuiltinTable =>
  names.map((name) => [prototype[name]!, builtin(name)] as const);

export const typedArrayBuiltins: BuiltinTable = [
  ...rows(['join', 'at', 'indexOf', 'lastIndexOf', 'includes'], asks),
  ...rows(['slice', 'toReversed', 'toSorted', 'with'], copies),
  ...rows(['fill', 'reverse', 'sort', 'copyWithin'], changes),
  ...rows(['keys', 'values', 'entries'], (name) => iterated(name as 'keys')),
  [prototype.set!, setItems],
  [
    Object.getOwnPropertyDescriptor(prototype, Symbol.toStringTag)!.get as unknown as HostFunction,
    tag,
  ],
  [ArrayBuffer.isView as HostFunction, isView],
  ...(['length', 'byteLength', 'byteOffset'] as const).map(
    (name) => [getterOf(name), measures(name)] as const,
  ),
];
