/** How results are built after a run, and what changes. */

import type { CapturedFrame } from '../../runtime/errors/position.ts';
import type {
  Effect,
  ElementRecipe,
  EntryRecipe,
  FrameRecipe,
  KeyOrder,
  MadeTraits,
  Make,
  ObjectMake,
  Recipe,
} from '../traces/trace-result.ts';
import type { Closure } from '../vm/bytecode/frame.ts';
import { uninitialized } from '../vm/bytecode/frame.ts';
import type { Pc, Primitive, Reg } from '../vm/bytecode/instructions.ts';
import {
  always,
  boolean,
  type Codec,
  integer,
  integers,
  list,
  never,
  nullable,
  oneOf,
  optional,
  optionalOrNull,
  pair,
  record,
  string,
  variants,
} from './codec.ts';
import { device } from './device-codec.ts';
import { numberExpr } from './guard-codec.ts';
import { anyObject, anyValue, key, source } from './source-codec.ts';

/** A constant, or the mark of a variable before its declaration. */
const constant: Codec<Primitive | symbol> = {
  write: (value, live) =>
    value === uninitialized ? { uninitialized: true } : anyValue.write(value, live),
  read: (field, live) =>
    field.has('uninitialized') ? uninitialized : (anyValue.read(field, live) as Primitive),
};

export const recipe: Codec<Recipe> = variants<Recipe>(() => ({
  output: record({ index: integer() }),
  scalar: record({ index: integer(), type: oneOf('number', 'boolean') }),
  text: never('it makes text of numbers of its program'),
  made: record({ index: integer() }),
  choice: record({ which: recipe, options: list(recipe) }),
  constant: record({ value: constant }),
  held: record({ value: anyObject }),
  source: record({ source }),
  number: record({ expr: numberExpr }),
  absent: record({}),
}));

const item = nullable(recipe);
const entry = pair(recipe, recipe) as Codec<EntryRecipe>;
const named = list(pair(string, recipe));
const order = nullable(record<KeyOrder>({ which: recipe, labels: list(string) }));

/** Null is a valid prototype. */
const prototype = optionalOrNull(recipe);

const objectParts = record<Omit<ObjectMake, 'kind'>>({
  entries: named,
  order,
  prototype,
  errorType: always(undefined, 'it makes an error') as Codec<ErrorConstructor | undefined>,
  thrownIn: list(never('it makes an error') as Codec<CapturedFrame>),
  hasCause: boolean,
  traits: nullable(never('it makes an object with attributes') as Codec<MadeTraits>),
});

const objectCodec: Codec<ObjectMake | null> = nullable({
  write: (value, live) => objectParts.write(value, live),
  read: (field, live) => ({ kind: 'object', ...objectParts.read(field, live) }),
});

const element = variants<ElementRecipe>(() => ({
  leaf: record({ of: oneOf('tensor', 'number', 'boolean') }),
  same: record({ value: recipe }),
  array: record({ parts: list(element) }),
  object: record({ entries: list(pair(string, element)), prototype }),
  list: record({ of: element }),
})) as Codec<ElementRecipe>;

const unsupported = (what: string) => never(`it makes ${what}`);

export const make: Codec<Make> = variants<Make>(() => ({
  array: record({ elements: list(item), isFrozen: boolean, named, own: objectCodec }),
  extendedArray: record({ array: recipe, elements: list(item), isFrozen: boolean }),
  arguments: unsupported('an arguments object'),
  object: objectParts,
  collection: record({ type: oneOf('Map', 'Set'), entries: list(entry), order, own: objectCodec }),
  weakCollection: unsupported('a weak collection'),
  weakRef: unsupported('a weak reference'),
  promise: unsupported('a promise'),
  symbol: unsupported('a symbol'),
  cell: record({ content: recipe }),
  parameterCell: unsupported('an arguments object'),
  arrayIterator: record({ array: recipe, namesOf: item, next: integer(), done: boolean }),
  iteratorRecord: record({ iterator: recipe, next: item, done: boolean }),
  iterator: record({
    over: recipe,
    what: oneOf('keys', 'values', 'entries'),
    next: integer(),
    done: boolean,
  }),
  list: record({ outputs: integers(), element }),
  regexp: record({ pattern: string, flags: string, lastIndex: integer() }),
  typedArray: unsupported('a typed array'),
  view: unsupported('a typed array'),
  host: unsupported('a built-in object'),
  fixedHost: unsupported('a built-in object'),
  generator: unsupported('a generator'),
  bound: record({ target: recipe, receiver: recipe, args: list(recipe) }),
  closure: unsupported('a function'),
}));

const when = item;

export const effect: Codec<Effect> = variants<Effect>(() => ({
  setProperty: record({ object: source, key, value: recipe }),
  deleteProperty: record({ object: source, key }),
  orderKeys: record({ object: source, which: recipe }),
  fillArray: record({ array: source, from: start, items: list(item), list: item }),
  changeCollection: record({
    collection: source,
    operation: oneOf('set', 'add', 'delete', 'clear'),
    key: item,
    value: item,
  }),
  fillCollection: record({ collection: source, entries: list(entry), order }),
  assignHost: never('it changes a built-in object'),
  requiresGrad: record({ tensor: recipe, value: boolean }),
  retainGrad: record({ tensor: recipe }),
  setGrad: record({ tensor: recipe, value: recipe }),
  keep: record({ tensor: recipe }),
  dispose: record({ tensor: source, when, afterCheck: boolean }),
  disposeOutput: record({ output: recipe, when }),
  seed: record({ value: recipe }),
  drawNumbers: record({ count: recipe }),
}));

const start: Codec<0 | 'end'> = {
  write: (value) => value,
  read: (field) => (field.value === 0 ? 0 : field.oneOf(['end'] as const)),
};

const closure: Codec<Omit<Closure, 'cells'>> = {
  write: (value, live) => live.closure(value),
  read: (field, live) => live.closure(field),
};

const calls = variants<FrameRecipe['call']>(() => ({
  entry: record({ frame: integer() }),
  inlined: record({
    closure,
    cells: list(recipe),
    thisValue: recipe,
    args: list(recipe),
    newTarget: optional(recipe),
  }),
}));

export const frame = record<FrameRecipe>({
  call: calls,
  pc: integer() as Codec<Pc>,
  gradMode: optional(boolean),
  guard: optionalOrNull(device),
  registers: list(pair(integer() as Codec<Reg>, recipe)),
  returnTo: optional(integer() as Codec<Reg>),
});
