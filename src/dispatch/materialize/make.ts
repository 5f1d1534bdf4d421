/** Objects that each run creates. */

import { compileItems as compileItemsOf } from '../../../runtime/entry/make.ts';
import { Tensor } from '../../../runtime/tensor/tensor.ts';
import { entries as entriesOf } from '../../../runtime/tensor-methods/nested.ts';
import { noteBound } from '../../guards/code-behind.ts';
import { callNative, collectionType } from '../../guards/collection-slots.ts';
import { hostType } from '../../guards/host-types.ts';
import { contentsOf } from '../../traces/recipes.ts';
import type { Make, ObjectMake, Recipe } from '../../traces/trace-result.ts';
import type { Cell } from '../../vm/bytecode/frame.ts';
import {
  parameterCell,
  sharedArguments,
  unmappedArguments,
} from '../../vm/language/arguments-object.ts';
import { type IteratorRecord, ProtocolIterator } from '../../vm/language/iterator-record.ts';
import { append, apply } from '../../vm/language/primordials.ts';
import {
  arrayIteratorAt,
  instantiate,
  nameIteratorAt,
  resumedGenerator,
} from '../../vm/machine/run-frames.ts';
import { compileEntries } from './key-order.ts';
import { compileList } from './make-list.ts';
import { compileObject, type Shell } from './make-object.ts';
import {
  absentValue,
  compileFrame,
  compileRecipe,
  type RecipeReader,
  type RunValues,
} from './materialize.ts';

export interface CompiledMakes {
  /**
   * Creates the objects of one run: first empty containers, then objects built from others, then the containers'
   * contents, so that cycles can close.
   */
  readonly make: (values: RunValues) => void;
  /** Advances iterators to their positions, which count the elements that the run's effects leave; null if there are none. */
  readonly advance: ((values: RunValues) => void) | null;
}

export function compileMakes(makes: readonly Make[]): CompiledMakes {
  const compiled = makes.map(compileMake);
  const shells = compiled.flatMap((make, i) => ('empty' in make ? [{ i, make }] : []));
  const built = inOrder(makes).flatMap((i) => {
    const make = compiled[i]!;
    return 'build' in make ? [{ i, make }] : [];
  });
  const advanced = built.flatMap(({ i, make }) =>
    make.advance ? [{ i, advance: make.advance }] : [],
  );
  return {
    make: (values) => {
      for (const { i, make } of shells) values.made[i] = make.empty(values);
      for (const { i, make } of built) values.made[i] = make.build(values);
      for (const { i, make } of shells) make.fill(values.made[i], values);
    },
    advance:
      advanced.length === 0
        ? null
        : (values) => {
            for (const { i, advance } of advanced) advance(values.made[i]);
          },
  };
}

/** Returns an iteration over a tensor's entries that continues at index `next`. */
function rowIteratorAt(x: Tensor, next: number): IteratorRecord {
  const rows = entriesOf(x, next);
  return new ProtocolIterator().begin(rows, rows.next);
}

/** Orders recipes of objects so that an object's contents come before it. */
function inOrder(makes: readonly Make[]): number[] {
  const order = new Set<number>();
  const visited = new Set<number>();
  const visit = (recipe: Recipe) => {
    if (recipe.kind === 'made') add(recipe.index);
  };
  const add = (i: number) => {
    if (visited.has(i)) return;
    visited.add(i);
    const make = makes[i]!;
    for (const part of prerequisites(make)) visit(part);
    order.add(i);
  };
  for (const i of promisesIn(makes)) add(i);
  for (const i of makes.keys()) add(i);
  return [...order];
}

/** Returns promises in creation order: their reactions run in this order. */
function promisesIn(makes: readonly Make[]): number[] {
  const found = makes.flatMap((make, i) =>
    make.kind === 'promise' ? [{ i, sequence: make.sequence }] : [],
  );
  return found.sort((a, b) => a.sequence - b.sequence).map(({ i }) => i);
}

const filledLater: ReadonlySet<Make['kind']> = new Set<Make['kind']>([
  'array',
  'extendedArray',
  'arguments',
  'list',
  'object',
  'collection',
  'weakCollection',
  'cell',
  'iteratorRecord',
]);

/** Returns the recipes that must be evaluated before the object is built; containers are filled later. */
function prerequisites(make: Make): readonly Recipe[] {
  return filledLater.has(make.kind) ? [] : contentsOf(make);
}

type CompiledMake =
  | Shell
  | { readonly build: RecipeReader; readonly advance?: (value: unknown) => void };

const compilers: {
  readonly [K in Make['kind']]: (make: Extract<Make, { kind: K }>) => CompiledMake;
} = {
  array: (make) => {
    const append = compileItems(make.elements);
    const named = make.named.map(([key, recipe]) => [key, compileRecipe(recipe)] as const);
    return ofClass(make.own, {
      empty: () => [],
      fill: (target, values) => {
        append(target as unknown[], values);
        for (const [key, read] of named) Object.assign(target as object, { [key]: read(values) });
        if (make.isFrozen) Object.freeze(target);
      },
    });
  },
  extendedArray: (make) => {
    const [readArray, appendItems] = [compileRecipe(make.array), compileItems(make.elements)];
    return {
      empty: () => [],
      fill: (target, values) => {
        const before = readArray(values) as readonly unknown[];
        for (let i = 0; i < before.length; i++) append(target as unknown[], before[i]);
        appendItems(target as unknown[], values);
        if (make.isFrozen) Object.freeze(target);
      },
    };
  },
  arguments: (make) => {
    const append = compileItems(make.elements);
    const { elements, shared } = make;
    const named = make.named.map(([key, recipe]) => [key, compileRecipe(recipe)] as const);
    const nothing = elements.map(() => undefined);
    return {
      empty: () =>
        shared ? sharedArguments(nothing, shared.count, shared.callee) : unmappedArguments(nothing),
      fill: (target, values) => {
        const items: unknown[] = [];
        append(items, values);
        Object.assign(target as object, items);
        for (const [key, read] of named) (target as Record<string, unknown>)[key] = read(values);
      },
    };
  },
  list: compileList,
  object: compileObject,
  collection: compileCollection,
  weakCollection: compileWeakCollection,
  weakRef: (make) => {
    const target = compileRecipe(make.target);
    return { build: (values) => new WeakRef(target(values) as WeakKey) };
  },
  promise: (make) => ({ build: compilePromise(make) }),
  symbol: (make) => ({ build: () => Symbol(make.description) }),
  cell: (make) => {
    const read = compileRecipe(make.content);
    return {
      empty: (): Cell => ({ value: undefined }),
      fill: (target, values) => {
        (target as Cell).value = read(values);
      },
    };
  },
  parameterCell: (make) => {
    const args = compileRecipe(make.arguments);
    return { build: (values) => parameterCell(args(values), make.index) };
  },
  arrayIterator: (make) => {
    const array = compileRecipe(make.array);
    const object = make.namesOf && compileRecipe(make.namesOf);
    const { next, done } = make;
    return {
      build: (values) => {
        const items = array(values) as unknown[] | Tensor;
        const iteration =
          items instanceof Tensor
            ? rowIteratorAt(items, next)
            : object
              ? nameIteratorAt(object(values) as object, items, next)
              : arrayIteratorAt(items, next);
        iteration.done = done;
        return iteration;
      },
    };
  },
  iterator: (make) => {
    const over = compileRecipe(make.over);
    const { what, next, done } = make;
    return {
      build: (values) => {
        const items = over(values) as object;
        const iterator = iteratorOf(items, what);
        if (next > 0 && Array.isArray(items)) iterated.set(iterator, items);
        return iterator;
      },
      advance: (value) => {
        const iterator = value as Iterator<unknown>;
        const array = iterated.get(iterator);
        const length = array?.length ?? next;
        // An iterator ends for good where it finds an array's end, which later code may move.
        if (array && length < next) array.length = next;
        for (let i = 0; i < next; i++) iterator.next();
        if (array && length < next) array.length = length;
        // Where the number of elements differs between calls, steps weren't counted. Elements added later aren't visited.
        if (done) while (!iterator.next().done);
      },
    };
  },
  iteratorRecord: (make) => {
    const iterator = compileRecipe(make.iterator);
    const method = make.next && compileRecipe(make.next);
    const { done } = make;
    // The iterator may iterate over an object that is filled later.
    return {
      empty: () => new ProtocolIterator(),
      fill: (target, values) => {
        const iteration = target as ProtocolIterator;
        const over = iterator(values) as Iterator<unknown>;
        iteration.begin(over, (method ? method(values) : over.next) as () => unknown);
        iteration.done = done;
      },
    };
  },
  regexp: (make) => {
    const { pattern, flags, lastIndex } = make;
    return { build: () => Object.assign(new RegExp(pattern, flags), { lastIndex }) };
  },
  typedArray: (make) => {
    const { data } = make;
    return { build: () => data.slice() };
  },
  view: (make) => {
    const { type: View, byteOffset, length } = make;
    const buffer = compileRecipe(make.buffer);
    return { build: (values) => new View(buffer(values) as ArrayBuffer, byteOffset, length) };
  },
  host: (make) => {
    const { copy } = hostType(make.type);
    const { value } = make;
    return { build: () => copy(value) };
  },
  fixedHost: ({ build }) => ({ build }),
  generator: (make) => {
    const build = compileFrame(make.frame);
    const { state } = make;
    return {
      build: (values) => {
        const frame = build(values);
        // JavaScript can't inspect a generator, so its content is listed here.
        values.made.push([...frame.registers, ...frame.args, frame.thisValue]);
        return resumedGenerator(frame, state);
      },
    };
  },
  bound: (make) => {
    const [target, receiver] = [compileRecipe(make.target), compileRecipe(make.receiver)];
    const args = make.args.map(compileRecipe);
    return {
      build: (values) => {
        const given = args.map((read) => read(values));
        // JavaScript can't inspect a bound function, so its content is listed here.
        const [fn, thisValue] = [target(values) as () => unknown, receiver(values)];
        values.made.push([thisValue, ...given]);
        const bound = fn.bind(thisValue, ...given);
        noteBound(bound, { target: fn, thisValue, args: given });
        return bound;
      },
    };
  },
  closure: compileClosure,
};

function compileMake(make: Make): CompiledMake {
  return compilers[make.kind](make as never);
}

/**
 * Creates a container of a user's class: sets its prototype immediately, and its named properties after the content.
 */
function ofClass(own: ObjectMake | null, container: Shell): Shell {
  if (!own) return container;
  const prototype = compileRecipe(own.prototype!);
  const named = compileObject(own);
  return {
    empty: (values) =>
      Object.setPrototypeOf(container.empty(values) as object, prototype(values) as object),
    fill: (target, values) => {
      container.fill(target, values);
      named.fill(target, values);
    },
  };
}

function compilePromise({ by, values: recipes }: Make & { kind: 'promise' }): RecipeReader {
  const readers = recipes.map(compileRecipe);
  const only = readers[0]!;
  if (by === 'new') return (values) => new NativePromise((resolve) => resolve(only(values)));
  if (by === 'resolve') return (values) => apply(resolve, NativePromise, [only(values)]);
  const method = promiseMethods[by] as (items: unknown[]) => unknown;
  return (values) => apply(method, NativePromise, [readers.map((read) => read(values))]);
}

const NativePromise = Promise;
const { all, allSettled, any, race, resolve } = Promise;
const promiseMethods = { all, allSettled, any, race };

/** The arrays of iterators that aren't at their positions yet. */
const iterated = new WeakMap<object, unknown[]>();

/** Uses the built-in method: a user's class may override it. */
function iteratorOf(over: object, what: 'keys' | 'values' | 'entries'): object {
  if (collectionType(over)) return callNative(over, what) as object;
  return ArrayBuffer.isView(over)
    ? (over as Int8Array)[what]()
    : (apply(arrayMethods[what], over, []) as object);
}

const { keys, values, entries } = Array.prototype;
const arrayMethods = { keys, values, entries };

/** Appends the elements to an array; an absent one leaves a hole. */
export function compileItems(
  items: readonly (Recipe | null)[],
): (array: unknown[], values: RunValues) => void {
  return compileItemsOf(items, compileRecipe, (array, item) => {
    if (item !== absentValue) append(array, item);
  });
}

function compileCollection(make: Make & { kind: 'collection' }): CompiledMake {
  const readEntries = compileEntries(make.entries, make.order);
  const put = make.type === 'Map' ? 'set' : 'add';
  return ofClass(make.own, {
    empty: () => (make.type === 'Map' ? new Map() : new Set()),
    fill: (target, values) => {
      for (const [key, value] of readEntries(values)) callNative(target as object, put, key, value);
    },
  });
}

function compileWeakCollection(make: Make & { kind: 'weakCollection' }): CompiledMake {
  const readers = make.entries.map(
    ([key, value]) => [compileRecipe(key), compileRecipe(value)] as const,
  );
  const put = make.type === 'WeakMap' ? 'set' : 'add';
  return ofClass(make.own, {
    empty: () => (make.type === 'WeakMap' ? new WeakMap() : new WeakSet()),
    fill: (target, values) => {
      for (const [key, value] of readers) {
        const content = value(values);
        if (content !== absentValue) callNative(target as object, put, key(values), content);
      }
    },
  });
}

function compileClosure(make: Make & { kind: 'closure' }): CompiledMake {
  const cells = make.cells.map(compileRecipe);
  const thisValue = compileRecipe(make.thisValue);
  const newTarget = make.newTarget && compileRecipe(make.newTarget);
  const { code, outer, name } = make;
  return {
    build: (values) => {
      const closure = instantiate(
        code,
        outer.scope,
        cells.map((read) => read(values) as Cell),
        thisValue(values),
        code.kind === 'arrow' ? outer.homeObject : undefined,
        newTarget?.(values),
      );
      if (name === undefined) return closure;
      return Object.defineProperty(closure, 'name', { value: name, configurable: true });
    },
  };
}
