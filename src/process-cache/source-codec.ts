import { numberCalls } from '../../runtime/ops/numbers/number-calls.ts';
import type { Query } from '../guards/query.ts';
import type { Source } from '../guards/source.ts';
import type { PrivateAccess, Scope } from '../vm/bytecode/frame.ts';
import { isObject } from '../vm/language/primordials.ts';
import {
  boolean,
  type Codec,
  integer,
  never,
  notStorable,
  oneOf,
  optional,
  primitive,
  record,
  string,
  variants,
} from './codec.ts';

/** A source by its index in the entry's list. */
export const source: Codec<Source> = {
  write: (value, live) => live.source(value),
  read: (field, live) => live.source(field),
};

const wellKnown = new Map<symbol, string>(
  Object.getOwnPropertyNames(Symbol).flatMap((name): [symbol, string][] => {
    const value: unknown = Reflect.get(Symbol, name);
    return typeof value === 'symbol' ? [[value, name]] : [];
  }),
);
const byName = new Map([...wellKnown].map(([value, name]) => [name, value]));

const symbol: Codec<symbol> = {
  write(value) {
    const registered = Symbol.keyFor(value);
    if (registered !== undefined) return { registered };
    return { symbol: wellKnown.get(value) ?? notStorable('it uses a symbol of its own') };
  },
  read(field) {
    if (field.has('registered')) return Symbol.for(field.get('registered').string());
    return byName.get(field.get('symbol').string()) ?? field.fail('a well-known symbol');
  },
};

/** A property key. */
export const key: Codec<string | symbol> = {
  write: (value, live) => (typeof value === 'symbol' ? symbol.write(value, live) : value),
  read: (field, live) => (typeof field.value === 'string' ? field.value : symbol.read(field, live)),
};

/** A primitive, or an object of the process by its index in the entry's list. */
export const anyValue: Codec<unknown> = {
  write(value, live) {
    if (isObject(value)) return { object: live.object(value) };
    return typeof value === 'symbol'
      ? symbol.write(value, live)
      : primitive.write(value as string, live);
  },
  read(field, live) {
    if (field.has('object')) return live.object(field.get('object'));
    if (field.has('symbol') || field.has('registered')) return symbol.read(field, live);
    return primitive.read(field, live);
  },
};

export const anyObject: Codec<object> = {
  write: (value, live) => live.object(value),
  read: (field, live) => live.object(field),
};

const variable: Codec<{ readonly scope: Scope; readonly name: string }> = {
  write: ({ scope, name }, live) => [live.scope(scope, name), name],
  read(field, live) {
    const [around, name] = field.tuple(2);
    const scope = live.scope(around);
    // Rejects invalid names.
    scope.reader(name.string());
    return { scope, name: name.string() };
  },
};

/** Variables are printed with the function that reads them. */
const free: Codec<Omit<Source & { readonly kind: 'free' }, 'kind'>> = {
  write: (value, live) => [variable.write(value, live), live.text(value.owner)],
  read(field, live) {
    const [found, owner] = field.tuple(2);
    return { ...variable.read(found, live), owner: live.text(owner) };
  },
};

const index = integer(1e6);
const queries = {
  ...{
    isFrozen: 0,
    isSealed: 0,
    isExtensible: 0,
    names: 0,
    attributes: 0,
    isView: 0,
    isTypedArray: 0,
  },
  ...{
    tensors: 0,
    bareTensors: 0,
    statePlaces: 0,
    fromEnd: 0,
    target: 0,
    entries: 0,
    countsUp: 0,
    hostState: 0,
    date: 0,
    regExp: 0,
  },
} satisfies Record<Query, 0>;

const query = oneOf(...(Object.keys(queries) as Query[]));
const frame: Codec<number> = {
  write: (value) => value,
  read: (field, live) => field.int(0, live.frames.length - 1),
};

/** Adds a function with access rights to the private name. */
function withAccess<T extends { readonly name: string }>(
  rest: Codec<T>,
): Codec<T & { readonly access: PrivateAccess }> {
  return {
    write: (value, live) => [rest.write(value, live), live.access(value.access, value.name)],
    read(field, live) {
      const [own, access] = field.tuple(2);
      const read = rest.read(own, live);
      return { ...read, access: live.access(access, read.name) };
    },
  };
}

/** The object may be the location of the variable of that name. */
const held: Codec<{ readonly value: object; readonly name: string }> = {
  write: ({ value, name }, live) => [live.object(value, name), name],
  read(field, live) {
    const [value, name] = field.tuple(2);
    return { value: live.object(value), name: name.string() };
  },
};

const boundPart: Codec<'target' | 'this' | number> = {
  write: (value) => value,
  read: (field, live) =>
    typeof field.value === 'number'
      ? index.read(field, live)
      : field.oneOf(['target', 'this'] as const),
};

/** A source as an item of the list. */
export const sourceItem: Codec<Source> = variants<Source>(() => ({
  argument: record({ frame, index }),
  argumentCount: record({ frame }),
  restArguments: record({ frame, from: index }),
  this: record({ frame }),
  newTarget: record({ frame }),
  register: record({ frame, reg: index as Codec<never> }),
  free,
  hasFree: variable,
  outerCell: record({ frame, index }),
  accessor: record({ base: source, key, which: oneOf('get', 'set') }),
  query: record({ base: source, query, key: optional(key) }),
  prototypeOf: record({ base: source }),
  private: withAccess(record({ base: source, name: string, slot: boolean })),
  hasPrivate: withAccess(record({ base: source, name: string })),
  instanceOf: record({ base: source, type: anyObject as Codec<never> }),
  mapGet: record({ base: source, key: anyValue }),
  mapHas: record({ base: source, key: anyValue }),
  contents: record({ base: source }),
  lookup: record({
    base: source,
    plus: integer(),
    collection: source,
    method: oneOf('get', 'has'),
  }),
  closureCell: never('it calls a function that captured code has made'),
  closureThis: record({ base: source }),
  closureName: record({ base: source, name: string }),
  bound: record({ base: source, part: boundPart }),
  called: record({
    fn: oneOf(...(Object.keys(numberCalls) as (keyof typeof numberCalls)[])),
    index,
    after: boolean,
  }),
  held,
  random: record({ field: oneOf('seed', 'offset') }),
  property: record({ base: source, key }),
  hasProperty: record({ base: source, key, own: boolean }),
}));
