import { randomReader, type SourceOf } from '../../runtime/entry/source.ts';
import { assertNever } from '../../runtime/errors/invariant.ts';
import type { Code } from '../vm/bytecode/code.ts';
import type { Frame, PrivateAccess, Scope } from '../vm/bytecode/frame.ts';
import type { Pc, Reg } from '../vm/bytecode/instructions.ts';
import { registerText } from '../vm/bytecode/user-text.ts';
import { closureOf } from '../vm/frames/function-of.ts';
import { fastKey } from '../vm/language/index-key.ts';
import { PrivateSlot } from '../vm/language/private-slot.ts';
import { type CalledNumber, calledNumber } from './called-numbers.ts';
import { boundParts, closureOfFunction } from './code-behind.ts';
import { callNative, contentsOf } from './collection-slots.ts';
import { accessorOf } from './plain.ts';
import { ask, type Query } from './query.ts';

/**
 * Where a value came from, as data: guards read it again before a run, and it can be printed. The frames are the ones
 * that enter a subgraph, outermost first.
 */
export type Source = SourceOf<TraceSource, string | symbol>;

type TraceSource =
  | { readonly kind: 'argument'; readonly frame: number; readonly index: number }
  | { readonly kind: 'argumentCount'; readonly frame: number }
  /** The array of all arguments from an index on. */
  | { readonly kind: 'restArguments'; readonly frame: number; readonly from: number }
  | { readonly kind: 'this'; readonly frame: number }
  | { readonly kind: 'newTarget'; readonly frame: number }
  | { readonly kind: 'register'; readonly frame: number; readonly reg: Reg }
  /** A free variable of a captured function. */
  | { readonly kind: 'free'; readonly scope: Scope; readonly name: string; readonly owner: string }
  /** Whether there is such a variable. */
  | { readonly kind: 'hasFree'; readonly scope: Scope; readonly name: string }
  | { readonly kind: 'outerCell'; readonly frame: number; readonly index: number }
  /** The function of a getter or setter. */
  | {
      readonly kind: 'accessor';
      readonly base: Source;
      readonly key: string | symbol;
      readonly which: 'get' | 'set';
    }
  /** The result of a query about an object, and about its own property `key`. */
  | {
      readonly kind: 'query';
      readonly base: Source;
      readonly query: Query;
      readonly key: string | symbol | undefined;
    }
  /** The class that a class extends, or the prototype of an object. */
  | { readonly kind: 'prototypeOf'; readonly base: Source }
  /** `base.#name`, with the access rights of a captured function; `slot`: the location instead of the value. */
  | {
      readonly kind: 'private';
      readonly base: Source;
      readonly access: PrivateAccess;
      readonly name: string;
      readonly slot: boolean;
    }
  /** `#name in base` */
  | {
      readonly kind: 'hasPrivate';
      readonly base: Source;
      readonly access: PrivateAccess;
      readonly name: string;
    }
  | { readonly kind: 'instanceOf'; readonly base: Source; readonly type: AnyFunction }
  /** The values of a Map, or the elements of a Set, as a new array. */
  | { readonly kind: 'contents'; readonly base: Source }
  /** Entries of Maps and Sets; the key is a primitive or an object that the trace references. */
  | { readonly kind: 'mapGet'; readonly base: Source; readonly key: unknown }
  | { readonly kind: 'mapHas'; readonly base: Source; readonly key: unknown }
  /**
   * The result of looking up `base`, an object or number that may differ between calls, in a Map or Set. `plus` is
   * added to a number.
   */
  | {
      readonly kind: 'lookup';
      readonly base: Source;
      readonly plus: number;
      readonly collection: Source;
      readonly method: LookupMethod;
    }
  /** A variable captured by a function that bytecode created: a cell, or an arrow's `this`. */
  | { readonly kind: 'closureCell'; readonly base: Source; readonly index: number }
  | { readonly kind: 'closureThis'; readonly base: Source }
  /** A free variable of a user function. */
  | { readonly kind: 'closureName'; readonly base: Source; readonly name: string }
  /** A part of a bound function: its target, its `this`, or one of its arguments. */
  | { readonly kind: 'bound'; readonly base: Source; readonly part: 'target' | 'this' | number }
  | CalledNumber
  /** An object that the trace itself found and references. */
  | { readonly kind: 'held'; readonly value: object; readonly name: string };

/** A method of Maps and Sets that looks a key up. */
export type LookupMethod = 'get' | 'has';

/** `x.shape[dim]` */
export function dimSource(tensor: Source, dim: number): Source {
  const shape: Source = { kind: 'property', base: tensor, key: 'shape' };
  return { kind: 'property', base: shape, key: String(dim) };
}

export function strideSource(tensor: Source, dim: number): Source {
  const strides: Source = { kind: 'property', base: tensor, key: 'strides' };
  return { kind: 'property', base: strides, key: String(dim) };
}

// biome-ignore lint/complexity/noBannedTypes: whatever can stand behind instanceof
type AnyFunction = Function;

const { get, has } = Map.prototype;

export type Reader = (frames: readonly Frame[]) => unknown;

/** Compiles a source to a function that reads it, resolving what it can in advance. */
export function compileReader(source: Source): Reader {
  return compileRead(source, compileReader);
}

/** Compiles a reader; `readerOf` compiles the sources that it reads through. */
export function compileRead(source: Source, readerOf: (base: Source) => Reader): Reader {
  return readers[source.kind](source as never, readerOf);
}

const readers: {
  readonly [K in Source['kind']]: (
    source: Extract<Source, { kind: K }>,
    readerOf: (base: Source) => Reader,
  ) => Reader;
} = {
  argument: (source) => {
    const { frame, index } = source;
    return (frames) => frames[frame]!.args[index];
  },
  argumentCount: (source) => {
    const { frame } = source;
    return (frames) => frames[frame]!.args.length;
  },
  restArguments: (source) => {
    const { frame, from } = source;
    return (frames) => frames[frame]!.args.slice(from);
  },
  this: (source) => {
    const { frame } = source;
    return (frames) => frames[frame]!.thisValue;
  },
  newTarget: (source) => {
    const { frame } = source;
    return (frames) => frames[frame]!.newTarget;
  },
  register: (source) => {
    const { frame, reg } = source;
    return (frames) => frames[frame]!.registers[reg];
  },
  free: (source) => source.scope.reader(source.name),
  hasFree: (source) => {
    const { scope, name } = source;
    return () => scope.has(name);
  },
  outerCell: (source) => {
    const { frame, index } = source;
    return (frames) => frames[frame]!.closure.cells[index];
  },
  property: (source, readerOf) => {
    const base = readerOf(source.base);
    const key = fastKey(source.key);
    return (frames) => (base(frames) as Record<PropertyKey, unknown>)[key];
  },
  hasProperty: (source, readerOf) => {
    const base = readerOf(source.base);
    const { key, own } = source;
    if (own) return (frames) => Object.hasOwn(base(frames) as object, key);
    return (frames) => key in (base(frames) as object);
  },
  accessor: (source, readerOf) => {
    const base = readerOf(source.base);
    const { key, which } = source;
    return (frames) => accessorOf(base(frames) as object, key)?.[which];
  },
  query: (source, readerOf) => {
    const base = readerOf(source.base);
    const { query, key } = source;
    return (frames) => ask(query, base(frames) as object, key);
  },
  prototypeOf: (source, readerOf) => {
    const base = readerOf(source.base);
    return (frames) => Object.getPrototypeOf(base(frames)) as unknown;
  },
  private: (source, readerOf) => {
    const base = readerOf(source.base);
    const { access, slot } = source;
    if (slot) return (frames) => new PrivateSlot(access, base(frames) as object);
    return (frames) => access.get(base(frames) as object);
  },
  hasPrivate: (source, readerOf) => {
    const base = readerOf(source.base);
    const { access } = source;
    return (frames) => access.has(base(frames) as object);
  },
  random: randomReader,
  instanceOf: (source, readerOf) => {
    const base = readerOf(source.base);
    const { type } = source;
    return (frames) => base(frames) instanceof type;
  },
  mapGet: (source, readerOf) => {
    const base = readerOf(source.base);
    const { key } = source;
    return (frames) => {
      const map = base(frames) as ReadonlyMap<unknown, unknown>;
      return map.get === get ? map.get(key) : callNative(map, 'get', key);
    };
  },
  mapHas: (source, readerOf) => {
    const base = readerOf(source.base);
    const { key } = source;
    return (frames) => {
      const set = base(frames) as ReadonlySet<unknown>;
      return set.has === has ? set.has(key) : callNative(set, 'has', key);
    };
  },
  contents: (source, readerOf) => {
    const base = readerOf(source.base);
    return (frames) => contentsOf(base(frames) as object);
  },
  lookup: (source, readerOf) => {
    const key = readerOf(source.base);
    const collection = readerOf(source.collection);
    const { method, plus } = source;
    if (plus === 0) {
      return (frames) => callNative(collection(frames) as object, method, key(frames));
    }
    return (frames) =>
      callNative(collection(frames) as object, method, (key(frames) as number) + plus);
  },
  closureCell: (source, readerOf) => {
    const base = readerOf(source.base);
    const { index } = source;
    return (frames) => closureOf(base(frames))!.cells[index];
  },
  closureThis: (source, readerOf) => {
    const base = readerOf(source.base);
    return (frames) => closureOfFunction(base(frames))!.lexicalThis!.value;
  },
  closureName: (source, readerOf) => {
    const base = readerOf(source.base);
    const { name } = source;
    return (frames) => closureOfFunction(base(frames))!.scope.get(name);
  },
  bound: (source, readerOf) => {
    const base = readerOf(source.base);
    const { part } = source;
    return (frames) => {
      const { target, thisValue, args } = boundParts(base(frames))!;
      return part === 'target' ? target : part === 'this' ? thisValue : args[part];
    };
  },
  called: (source) => (frames) => calledNumber(frames, source),
  held: (source) => {
    const { value } = source;
    return () => value;
  },
};

/** The names that registers and arguments have in the user's code. */
export interface SourceNames {
  readonly codes: readonly Code[];
  /** The program counter of each frame. */
  readonly pcs: readonly Pc[];
}

function argumentName(code: Code | undefined, index: number): string {
  const { instructions = [], registerNames = [] } = code ?? {};
  const at = instructions.findIndex((each) => each.op === 'arg' && each.index === index);
  const [taken, next] = [instructions[at], instructions[at + 1]];
  const name = taken?.op === 'arg' && registerNames[taken.dst];
  if (name) return name;
  // A parameter that closures share is moved from a temporary into its cell.
  return next?.op === 'storeCell' ? next.name : `arguments[${index}]`;
}

const identifier = /^[A-Za-z_$][\w$]*$/;

/** Prints the source as the user would write it: `this.layers[0].weight`. */
export function printSource(source: Source, names: SourceNames): string {
  switch (source.kind) {
    case 'argument':
      return argumentName(names.codes[source.frame], source.index);
    case 'argumentCount':
      return 'arguments.length';
    case 'restArguments':
      return source.from === 0 ? 'arguments' : `arguments from ${source.from} on`;
    case 'this':
      return 'this';
    case 'newTarget':
      return 'new.target';
    case 'register':
      return registerName(source.frame, source.reg, names);
    case 'free':
      return source.name;
    case 'hasFree':
      return `whether ${source.name} is declared`;
    case 'outerCell':
      return names.codes[source.frame]?.outerCells[source.index] ?? `cell${source.index}`;
    case 'property': {
      if (source.key === 'value' && isVariable(source.base, names))
        return printSource(source.base, names);
      const base = printSource(source.base, names);
      if (typeof source.key === 'symbol') return `${base}[${String(source.key)}]`;
      if (/^\d+$/.test(source.key)) return `${base}[${source.key}]`;
      return identifier.test(source.key) ? `${base}.${source.key}` : `${base}['${source.key}']`;
    }
    case 'hasProperty': {
      const base = printSource(source.base, names);
      const key = typeof source.key === 'symbol' ? String(source.key) : `'${source.key}'`;
      return source.own ? `Object.hasOwn(${base}, ${key})` : `${key} in ${base}`;
    }
    case 'accessor':
      return `the ${source.which}ter ${String(source.key)} of ${printSource(source.base, names)}`;
    case 'query': {
      const { query, key } = source;
      const base = printSource(source.base, names);
      if (query === 'fromEnd') return `${base}.at(-${String(key)})`;
      const of = key === undefined ? '' : ` ${String(key)}`;
      return `${query}${of} of ${base}`;
    }
    case 'prototypeOf':
      return `Object.getPrototypeOf(${printSource(source.base, names)})`;
    case 'private':
      return `${printSource(source.base, names)}.#${source.name}`;
    case 'hasPrivate':
      return `#${source.name} in ${printSource(source.base, names)}`;
    case 'random':
      return source.field === 'seed' ? 'the seed' : 'the place in the random stream';
    case 'instanceOf':
      return `${printSource(source.base, names)} instanceof ${source.type.name}`;
    case 'mapGet':
    case 'mapHas': {
      const method = source.kind === 'mapGet' ? 'get' : 'has';
      return `${printSource(source.base, names)}.${method}(${printKey(source.key)})`;
    }
    case 'contents':
      return `[...${printSource(source.base, names)}.values()]`;
    case 'lookup': {
      const collection = printSource(source.collection, names);
      const sign = source.plus < 0 ? '-' : '+';
      const more = source.plus === 0 ? '' : ` ${sign} ${Math.abs(source.plus)}`;
      return `${collection}.${source.method}(${printSource(source.base, names)}${more})`;
    }
    case 'closureCell':
      return `a variable of ${printSource(source.base, names)}`;
    case 'closureName':
      return source.name;
    case 'closureThis':
      return `this of ${printSource(source.base, names)}`;
    case 'bound': {
      const part = typeof source.part === 'number' ? `argument ${source.part}` : source.part;
      return `the bound ${part} of ${printSource(source.base, names)}`;
    }
    case 'called':
      return `${source.fn}()`;
    case 'held':
      return source.name;
    default:
      return assertNever(source, 'source');
  }
}

function printKey(key: unknown): string {
  if (typeof key === 'string') return JSON.stringify(key);
  return typeof key === 'object' || typeof key === 'function' ? 'an object' : String(key);
}

/** The variable's name, or the expression whose value a temporary contains. */
function registerName(frame: number, register: Reg, { codes, pcs }: SourceNames): string {
  const code = codes[frame];
  const name = code?.registerNames[register];
  if (name !== undefined || !code) return name ?? `r${register}`;
  return registerText(code, pcs[frame] ?? 0, register) ?? `r${register}`;
}

/** A variable that closures share is read from its cell, and a private field from its slot: users know it by name. */
function isVariable(source: Source, { codes }: SourceNames): boolean {
  if (source.kind === 'private') return source.slot;
  if (source.kind === 'outerCell' || source.kind === 'closureCell') return true;
  if (source.kind !== 'register') return false;
  const { instructions } = codes[source.frame]!;
  return instructions.some(
    (each) => (each.op === 'newCell' || each.op === 'outerCell') && each.dst === source.reg,
  );
}
