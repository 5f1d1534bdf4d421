import { scalarFunctions } from '../../runtime/ops/numbers/scalar-functions.ts';
import { dtypeNames } from '../../runtime/save/tensors.ts';
import type { Guard, GuardedSize, GuardedStrides, InheritedProperty } from '../guards/guard.ts';
import type { NumberExpr, TracedNumber } from '../guards/number-expr.ts';
import type { Change } from '../guards/plain.ts';
import type { Code } from '../vm/bytecode/code.ts';
import {
  boolean,
  type Codec,
  integer,
  list,
  never,
  nullable,
  number,
  oneOf,
  record,
  string,
  variants,
} from './codec.ts';
import { device } from './device-codec.ts';
import { anyObject, anyValue, key, source } from './source-codec.ts';

/** Bounded in depth by JSON nesting. */
export const numberExpr: Codec<NumberExpr> = variants<NumberExpr>(() => ({
  constant: record({ value: number }),
  apply: record({ fn: oneOf(...scalarFunctions.keys()), args: list(numberExpr) }),
  source: record({ source }),
  size: record({ index: integer(), name: string }),
})) as Codec<NumberExpr> satisfies Codec<TracedNumber | NumberExpr>;

const numberOrBoolean: Codec<number | boolean> = {
  write: (value, live) => (typeof value === 'boolean' ? value : number.write(value, live)),
  read: (field, live) =>
    typeof field.value === 'boolean' ? field.value : number.read(field, live),
};

const size: Codec<GuardedSize> = {
  write: (value) => value,
  read: (field) =>
    field.value === 'any' || field.value === null
      ? field.value
      : field.int(0, Number.MAX_SAFE_INTEGER),
};

const strides: Codec<GuardedStrides> = {
  write: (value) => value,
  read: (field, live) =>
    field.value === 'any' ? 'any' : nullable(list(integer())).read(field, live),
};

/** The code of a function at a location that the trace has read. */
const codeAt: Codec<Code> = {
  write: (code, live) => live.code(code),
  read: (field, live) => live.closure(field).code,
};

const inherited = record<InheritedProperty>({ key, getter: anyValue, value: anyValue });
const primitiveValue = anyValue as Codec<string>;
const change = oneOf<Change>('write', 'writeBelow', 'delete', 'resize');

export const guard: Codec<Guard> = variants<Guard>(() => ({
  gradMode: record({ enabled: boolean }),
  device: record({ device }),
  opDevice: record({ device: nullable(device) }),
  value: record({ source, value: primitiveValue }),
  truthy: record({ source, truthy: boolean }),
  defined: record({ source }),
  typeof: record({ source, type: string }),
  isArray: record({ source, isArray: boolean }),
  number: record({ expr: numberExpr, value: numberOrBoolean }),
  initialized: record({ source }),
  identity: record({ source, value: anyObject }),
  same: record({ source, other: source, same: boolean }),
  distinct: record({ sources: list(source), others: list(source) }),
  leaf: record({ source }),
  closure: never('it calls a function that captured code has made'),
  code: record({ source, code: codeAt }),
  bound: record({ source, args: integer() }),
  collection: record({ source, type: oneOf('Map', 'Set', 'WeakMap', 'WeakSet'), plain: boolean }),
  members: record({ source, keys: list(anyValue) }),
  change: record({ source, key, change }),
  data: record({ sources: list(source) }),
  prototype: record({ source, properties: list(inherited) }),
  bare: record({ source, keys: list(key as Codec<PropertyKey>) }),
  keys: record({ source, keys: list(string) }),
  plainArray: record({ source }),
  tensor: record({
    source,
    dtype: oneOf(...dtypeNames),
    shape: list(size),
    strides,
    device,
    requiresGrad: boolean,
  }),
}));
