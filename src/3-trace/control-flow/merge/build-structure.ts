import { valuesIn } from '../../../../runtime/program/number-text.ts';
import { isListed } from '../../state/listed.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { ClosureVariable } from '../../variables/function-variables.ts';
import type { GrowableList, ListVariable } from '../../variables/growable-list.ts';
import type { IteratedVariable, IteratorVariable } from '../../variables/iterator-variables.ts';
import { textOf } from '../../variables/text-variable.ts';
import {
  absent,
  type BoundVariable,
  type CellVariable,
  type DeviceScalar,
  type NewArrayVariable,
  type NewCollectionVariable,
  type NewObjectVariable,
  type OwnPart,
  type TensorVariable,
  type TextVariable,
  uninitializedVariable,
  type Variable,
} from '../../variables/variable.ts';
import { growableArray } from '../lists/list-elements.ts';
import { describePaths } from './describe.ts';

/** Thrown if the paths produce values that one program can't merge. */
export class Mismatch extends Error {
  override readonly name = 'Mismatch';
}

/** The value that each path produces; null if it is dead. */
export type Values = readonly (Variable | null)[];

/** Builds a merged value. `made`: values built so far, by their builders. */
export type Build = (joined: readonly Variable[], built: Map<Build, Variable>) => Variable;

/** The structures that the paths have created, all of one kind. */
interface Merging<V> {
  readonly build: Build;
  /** Whether the structure is listed by one that the paths share. */
  readonly listed: boolean;
  /** Merges a part of the structures; undefined denotes a missing one. */
  readonly part: (pick: (path: V) => Variable | undefined) => Build;
  readonly isMadeOnPath: (tensor: TensorVariable) => boolean;
}

/** How a merger merges the parts of structures. */
interface PartMerger {
  readonly add: (parts: Values) => Build;
  readonly isMadeOnPath: (tensor: TensorVariable) => boolean;
}

/** Returns how to build a structure that every path has created, all of the kind of `first`. Throws Mismatch. */
export function buildStructure(
  t: Tracer,
  paths: Values,
  first: Variable,
  build: Build,
  { add, isMadeOnPath }: PartMerger,
): Build {
  const merging: Merging<never> = {
    build,
    isMadeOnPath,
    listed: paths.some((path) => path !== null && isListed(path)),
    part: (pick) => add(paths.map((path) => path && (pick(path as never) ?? absent))),
  };
  switch (first.kind) {
    case 'newArray':
      return first.growable ? buildList(first.growable, merging) : buildArray(first, merging);
    case 'newObject':
      return buildObject(first, merging);
    case 'newCollection':
      return buildCollection(first, merging);
    case 'text':
      return buildText(first, merging);
    case 'cell':
      return buildCell(first, merging);
    case 'closure':
      return buildClosure(first, merging);
    case 'bound':
      return buildBound(t, first, merging);
    case 'iterator':
      if (first.position || first.passed.size > 0) break;
      return buildIterator(t, first, merging);
    default:
  }
  throw new Mismatch(describePaths(t, paths));
}

function buildList(first: GrowableList, { build, listed, part }: Merging<NewArrayVariable>): Build {
  const { form } = first;
  const lists = first.lists.map((_, i) => part((path) => path.growable?.lists[i]));
  const length = part((path) => path.growable?.length);
  return (joined, built) => {
    const array = growableArray({
      form,
      lists: lists.map((list) => list(joined, built) as ListVariable),
      length: length(joined, built) as DeviceScalar,
    });
    built.set(build, array);
    return Object.assign(array, { listed });
  };
}

function buildArray(
  first: NewArrayVariable,
  { build, listed, part }: Merging<NewArrayVariable>,
): Build {
  const parts = first.elements.map((_, i) => part((path) => path.elements[i]));
  const own = first.own && part((path) => path.own);
  return (joined, built) => {
    const array = { ...first, elements: [] as Variable[], listed };
    built.set(build, array);
    for (const each of parts) array.elements.push(each(joined, built));
    return Object.assign(array, { own: own?.(joined, built) as OwnPart | undefined });
  };
}

function buildObject(
  first: NewObjectVariable,
  { build, listed, part }: Merging<NewObjectVariable>,
): Build {
  const parts = [...first.entries.keys()].map(
    (key) => [key, part((path) => path.entries.get(key))] as const,
  );
  const order = first.order && part((path) => path.order);
  return (joined, built) => {
    const object = { ...first, entries: new Map<string, Variable>(), listed };
    built.set(build, object);
    for (const [key, each] of parts) object.entries.set(key, each(joined, built));
    return Object.assign(object, { order: order?.(joined, built) });
  };
}

function buildCollection(
  first: NewCollectionVariable,
  { build, part, isMadeOnPath }: Merging<NewCollectionVariable>,
): Build {
  const parts = [...first.entries].map(([id, { key }]) => {
    const value = part((path) => path.entries.get(id)?.value);
    // A key created on a path is its own identity; a tensor that existed before the paths diverged remains the same
    // key.
    const isOwn = id === key && (key.kind !== 'tensor' || isMadeOnPath(key));
    const keyBuild = isOwn ? part((path) => path.entries.get(id)?.key) : null;
    return { id, key, own: keyBuild, value };
  });
  const order = first.order && part((path) => path.order);
  const own = first.own && part((path) => path.own);
  return (joined, built) => {
    const collection: typeof first = { ...first, entries: new Map(), putIn: [] };
    built.set(build, collection);
    for (const { id, key, own, value } of parts) {
      const merged = own ? own(joined, built) : key;
      collection.entries.set(own ? merged : id, { key: merged, value: value(joined, built) });
    }
    return Object.assign(collection, {
      order: order?.(joined, built),
      own: own?.(joined, built) as OwnPart | undefined,
    });
  };
}

function buildText(first: TextVariable, { part }: Merging<TextVariable>): Build {
  const numbers = valuesIn(first.parts).map((_, i) => part((path) => valuesIn(path.parts)[i]));
  return (joined, built) =>
    textOf(
      first,
      numbers.map((each) => each(joined, built)),
    );
}

function buildCell(first: CellVariable, { build, part }: Merging<CellVariable>): Build {
  const content = part((path) => path.content);
  return (joined, built) => {
    const cell = { ...first, content: uninitializedVariable as Variable };
    built.set(build, cell);
    cell.content = content(joined, built);
    return cell;
  };
}

function buildClosure(first: ClosureVariable, { build, part }: Merging<ClosureVariable>): Build {
  const thisVariable = part((path) => path.thisVariable);
  const cells = first.cells.map((_, i) => part((path) => path.cells[i]));
  return (joined, built) => {
    const closure = {
      ...first,
      thisVariable: thisVariable(joined, built),
      cells: cells.map((cell) => cell(joined, built)) as typeof first.cells,
    };
    built.set(build, closure);
    return closure;
  };
}

function buildBound(
  t: Tracer,
  first: BoundVariable,
  { build, part }: Merging<BoundVariable>,
): Build {
  const target = part((path) => path.target);
  const receiver = part((path) => path.receiver);
  const args = first.args.map((_, i) => part((path) => path.args[i]));
  const name = first.name && part((path) => path.name ?? undefined);
  return (joined, built) => {
    const bound = {
      ...first,
      madeIn: t.builder,
      target: target(joined, built),
      receiver: receiver(joined, built),
      args: args.map((arg) => arg(joined, built)),
      name: name?.(joined, built) ?? null,
    };
    built.set(build, bound);
    return bound;
  };
}

function buildIterator(
  t: Tracer,
  first: IteratorVariable,
  { build, part }: Merging<IteratorVariable>,
): Build {
  const over = part((path) => path.over);
  return (joined, built) => {
    const merged = over(joined, built) as IteratedVariable;
    const iterator: IteratorVariable = {
      ...first,
      madeIn: t.builder,
      over: merged,
      passed: new Set(),
      // Nothing has been inserted into a collection that is built here.
      heard: merged === first.over ? first.heard : 0,
    };
    built.set(build, iterator);
    return iterator;
  };
}
