/** `ArrayBuffer` and `DataView` created in the trace, and typed arrays over such memory. */

import type { TypedArray } from '../../../runtime/spec/dtype.ts';
import { typedArrayTypes } from '../../guards/types/typed-array-types.ts';
import { bufferVariable, keepBytes, madeBufferIn } from '../heap/buffers.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf, guardIdentity } from '../state/value-guards.ts';
import { byHost } from '../values/objects/host-objects.ts';
import { isInstance } from '../values/objects/instances.ts';
import { isPrimitiveVariable } from '../values/to-primitive.ts';
import { specialized } from '../variables/unions.ts';
import {
  type FunctionVariable,
  known,
  undefinedVariable,
  type Variable,
} from '../variables/variable.ts';
import type { Builtin, BuiltinTable, HostFunction } from './builtin.ts';

type AnyFunction = (...args: unknown[]) => unknown;

/** Larger buffers are left to the native function. */
const maxBytes = 2 ** 22;

/** Returns the buffer of a variable if it was created in the trace. */
function asBuffer(value: Variable | undefined): ArrayBuffer | undefined {
  const variable = value && specialized(value);
  return variable?.kind === 'newHost' && variable.type === 'ArrayBuffer'
    ? (variable.value as ArrayBuffer)
    : undefined;
}

function asView(value: Variable): DataView | undefined {
  const variable = specialized(value);
  const isView = variable.kind === 'newHost' && variable.value instanceof DataView;
  return isView ? (variable.value as DataView) : undefined;
}

/**
 * `new ArrayBuffer(n)`, `new DataView(buffer)` and `new Float32Array(buffer)`; undefined for other constructors.
 */
export function newBuffer(
  t: Tracer,
  callee: FunctionVariable,
  args: readonly Variable[],
): Variable | undefined {
  const type: unknown = callee.value;
  const isView = type === DataView || typedArrayTypes.has(type);
  const [first, ...rest] = args;
  if (type === ArrayBuffer) {
    if (args.length !== 1 || !first || !isPrimitiveVariable(first)) return undefined;
    guardIdentity(t, callee);
    const length = Number(constantOf(t, first));
    if (!(length <= maxBytes)) return undefined;
    return bufferVariable(
      byHost(t, () => new ArrayBuffer(length)),
      t.builder,
    );
  }
  const buffer = isView && asBuffer(first);
  if (!buffer || !rest.every(isPrimitiveVariable)) return undefined;
  guardIdentity(t, callee);
  const places = rest.map((place) => constantOf(t, place));
  const view = byHost(t, () => Reflect.construct(type as never, [buffer, ...places]) as object);
  if (view instanceof DataView) return { kind: 'newHost', type: null, value: view };
  return { kind: 'newTypedArray', data: view as TypedArray, madeIn: madeBufferIn(t, buffer) };
}

const bufferGetter = (name: string): Builtin => {
  const get = getterOf(ArrayBuffer.prototype, name)!;
  return (_t, receiver) => {
    const buffer = asBuffer(receiver);
    return buffer && known(Reflect.apply(get, buffer, []) as number);
  };
};

const slice: Builtin = (t, receiver, args) => {
  const buffer = asBuffer(receiver);
  if (!buffer || !args.every(isPrimitiveVariable)) return undefined;
  const [start, end] = args.map((arg) => constantOf(t, arg) as number | undefined);
  return bufferVariable(buffer.slice(start ?? 0, end), t.builder);
};

const viewGetter = (name: 'byteLength' | 'byteOffset'): Builtin => {
  return (_t, receiver) => {
    const view = asView(receiver);
    return view && known(view[name]);
  };
};

const viewBuffer: Builtin = (t, receiver) => {
  const view = asView(receiver);
  return view && bufferVariable(view.buffer, madeBufferIn(t, view.buffer));
};

const viewMethod =
  (name: string, fn: AnyFunction): Builtin =>
  (t, receiver, args) => {
    const view = asView(receiver);
    if (!view || !args.every(isPrimitiveVariable)) return undefined;
    const values = args.map((arg) => constantOf(t, arg));
    if (name.startsWith('set')) keepBytes(t, view, madeBufferIn(t, view.buffer));
    const result = byHost(t, () => Reflect.apply(fn, view, values));
    return result === undefined ? undefinedVariable : known(result as number | bigint);
  };

const typedPrototype = Object.getPrototypeOf(Int8Array.prototype) as object;

/** `typedArray.buffer` */
const arrayBuffer: Builtin = (_t, receiver) =>
  receiver.kind === 'newTypedArray'
    ? bufferVariable(receiver.data.buffer, receiver.madeIn)
    : undefined;

const subarray: Builtin = (t, receiver, args) => {
  if (receiver.kind !== 'newTypedArray' || !args.every(isPrimitiveVariable)) return undefined;
  const [start, end] = args.map((arg) => constantOf(t, arg) as number | undefined);
  bufferVariable(receiver.data.buffer, receiver.madeIn);
  return { ...receiver, data: receiver.data.subarray(start, end) as TypedArray };
};

/** `Buffer.isBuffer(value)` */
const isBuffer: Builtin = (t, _receiver, [value = undefinedVariable]) =>
  isInstance(t, value, t.read({ kind: 'held', value: Buffer, name: 'Buffer' }, Buffer));

function getterOf(prototype: object, name: string): AnyFunction | undefined {
  return Object.getOwnPropertyDescriptor(prototype, name)?.get as AnyFunction | undefined;
}

type Row = readonly [fn: unknown, builtin: Builtin];

const rows: readonly Row[] = [
  ...['byteLength', 'maxByteLength', 'resizable', 'detached']
    .filter((name) => getterOf(ArrayBuffer.prototype, name))
    .map((name): Row => [getterOf(ArrayBuffer.prototype, name), bufferGetter(name)]),
  [ArrayBuffer.prototype.slice, slice],
  ...(['byteLength', 'byteOffset'] as const).map(
    (name): Row => [getterOf(DataView.prototype, name), viewGetter(name)],
  ),
  [getterOf(DataView.prototype, 'buffer'), viewBuffer],
  ...Object.entries(Object.getOwnPropertyDescriptors(DataView.prototype))
    .filter(([name, { value }]) => /^[gs]et/.test(name) && typeof value === 'function')
    .map(([name, { value }]): Row => [value, viewMethod(name, value as AnyFunction)]),
  [getterOf(typedPrototype, 'buffer'), arrayBuffer],
  [Reflect.get(typedPrototype, 'subarray'), subarray],
  ...('Buffer' in globalThis ? [[Buffer.isBuffer, isBuffer] as const] : []),
];

export const bufferBuiltins: BuiltinTable = rows.map(
  ([fn, builtin]) => [fn as HostFunction, builtin] as const,
);
