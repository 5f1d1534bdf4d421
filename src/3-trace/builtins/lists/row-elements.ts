/** The elements of pre-existing arrays that grow with every call; a trace handles all elements together. */

import { TostaticError } from '../../../../runtime/errors/errors.ts';
import type { ProgramBuilder } from '../../../../runtime/program/builder.ts';
import { Tensor } from '../../../../runtime/tensor/tensor.ts';
import {
  hasBareTensors,
  keysInElements,
  listLayout,
  plainParts,
} from '../../../guards/list-layout.ts';
import { compileReader } from '../../../guards/source.ts';
import { sourceKey } from '../../../guards/source-key.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import { entriesAdded } from '../../heap/collections.ts';
import { newObject } from '../../heap/made-objects.ts';
import type { VaryingCollection } from '../../heap/varying-collections.ts';
import type { OuterTensors } from '../../inputs/outer-tensors.ts';
import { Raised } from '../../state/exceptions.ts';
import { type OperandResolver, type Replay, TapeMismatch } from '../../state/tape.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf } from '../../state/value-guards.ts';
import { asArray, itemsOf } from '../../values/arrays.ts';
import { columnsOf } from '../../values/varying-array.ts';
import { UnionMet } from '../../variables/unions.ts';
import {
  type NewArrayVariable,
  newArray,
  type ObjectVariable,
  tracedTensor,
  type Variable,
} from '../../variables/variable.ts';

/** The elements of a pre-existing array: trees of tensors, all with the same keys. */
export interface Rows {
  readonly outer: ObjectVariable;
  /** The tensors at each path in the elements. */
  readonly columns: readonly OuterTensors[];
  /** The index of the first element, for `outer.slice(from)`. */
  readonly from: number;
  /** Values that the trace appended. */
  readonly appended: readonly Variable[];
  /** Returns how many values the trace has appended so far. */
  appendedCount(): number;
}

export function differently(why: string): GraphBreak {
  return new GraphBreak('unsupported-value', `for an element, it ${why}`);
}

/** Returns the tensors of each element, from one on. */
export function rowsFrom(columns: readonly (readonly Tensor[])[], start: number): Tensor[][] {
  return columns[0]!.slice(start).map((_, i) => columns.map((column) => column[start + i]!));
}

/** The program to which calls are appended again. */
export interface Target {
  readonly resolver: OperandResolver;
  readonly builder: ProgramBuilder;
  readonly replay?: Replay | undefined;
}

export function resolverOf({ found, number, lists }: Replay): OperandResolver {
  return {
    tensor: (recorded) => found.get(recorded)!,
    number,
    tensors: (list) => lists.get(list)!,
  };
}

/** Returns undefined if the elements are read one by one, or if their number has not varied so far. */
export function rowsOf(t: Tracer, variable: Variable): Rows | undefined {
  const array = asArray(t, variable);
  if (t.isInRegion || t.rows || !array) return undefined;
  if (array.kind === 'newArray') {
    const { extended } = array;
    if (extended?.from !== undefined && !array.named?.size) return slicedRows(t, extended);
    if (!extended?.isCopy || extended.preceding.length > 0 || array.named?.size) return undefined;
    const { outer, tensors, appended } = extended;
    // Without an element, there is no example for tracing the others.
    if (tensors.recorded.length === 0) return undefined;
    const appendedCount = () => extended.appended.length;
    return { outer, columns: [tensors as OuterTensors], from: 0, appended, appendedCount };
  }
  // Their layout is bounded in depth, as other elements needn't be: an object may contain itself.
  if (listLayout(array.value) === undefined) return undefined;
  const elements = array.value as readonly unknown[];
  const areTensors = elements[0] instanceof Tensor;
  const keys = areTensors ? undefined : keysInElements(elements);
  const paths = areTensors || keys !== undefined ? pathsIn(elements[0]) : undefined;
  const columns = columnsOf(t, array, paths?.map((path) => ({ path, keys })) ?? []);
  if (!columns?.length) return undefined;
  const appended = () => {
    const content = t.effects.array(array.value)?.content;
    return content ? itemsOf(content) : [];
  };
  return {
    outer: array,
    columns,
    from: 0,
    appended: appended(),
    appendedCount: () => appended().length,
  };
}

function slicedRows(
  t: Tracer,
  { outer, from = 0, appended }: NonNullable<NewArrayVariable['extended']>,
): Rows | undefined {
  const rows = rowsOf(t, outer);
  return rows && { ...rows, from, appended, appendedCount: () => appended.length };
}

/** Like `rowsOf`, for the values of a Map or the elements of a Set. */
export function rowsOfCollection(
  t: Tracer,
  { collection, values, added }: VaryingCollection,
): Rows | undefined {
  const rows = rowsOf(t, values);
  const appendedCount = () => entriesAdded(t, collection)?.length ?? -1;
  return rows && { ...rows, appended: added.map(({ value }) => value), appendedCount };
}

/** Returns the array whose elements a pre-existing array or its copy contains; undefined for other values. */
function outerOf(array: Variable): ObjectVariable | undefined {
  if (array.kind === 'object') return array;
  const extended = array.kind === 'newArray' ? array.extended : undefined;
  const isCopy = extended?.isCopy && extended.preceding.length + extended.appended.length === 0;
  return isCopy ? extended.outer : undefined;
}

/** Returns the elements of the array or copy. */
export function rowsAmong(all: readonly Rows[], array: Variable): Rows | undefined {
  const outer = outerOf(array);
  if (!outer) return undefined;
  const key = sourceKey(outer.source);
  return all.find(
    (rows) => rows.outer.value === outer.value || sourceKey(rows.outer.source) === key,
  );
}

/** Returns the paths to all tensors in an element; undefined if it contains anything else. */
function pathsIn(element: unknown): (readonly string[])[] | undefined {
  if (element instanceof Tensor) return [[]];
  const parts = plainParts(element)?.map(([key, part]) =>
    pathsIn(part)?.map((path) => [key, ...path]),
  );
  return parts?.some((paths) => !paths) ? undefined : parts?.flatMap((paths) => paths!);
}

/** Returns an element from which the traced code receives only tensors. */
export function elementAt(t: Tracer, { outer, columns }: Rows, index: number): Variable {
  const tensors = columns.map(({ recorded }) => recorded[index]!);
  const build = (value: unknown): Variable => {
    if (value instanceof Tensor)
      return { ...tracedTensor(tensors.shift()!), isIdentityUnknown: true };
    const parts = plainParts(value)!.map(([key, part]) => [key, build(part)] as const);
    if (Array.isArray(value)) return { ...newArray(parts.map((part) => part[1])), listed: true };
    return { ...newObject(t), entries: new Map(parts), listed: true };
  };
  return build((outer.value as readonly unknown[])[index]);
}

/** Guards that no element's tensor overrides a method with an own property. */
export function guardBare(t: Tracer, { source }: OuterTensors, key: string | symbol): void {
  const query = { kind: 'query', base: source, query: 'bareTensors', key } as const;
  const isBare = hasBareTensors(compileReader(source)(t.entryFrames) as object, key);
  if (constantOf(t, t.read(query, isBare)) !== true) {
    throw new GraphBreak('unsupported-value', `the elements may have another ${String(key)}()`);
  }
}

/** Runs `body`; if the elements can't be traced together, rolls back and returns undefined. */
export function orByElement<T>(t: Tracer, body: () => T): T | undefined {
  try {
    return t.tentatively(body);
  } catch (error) {
    const isUndone =
      error instanceof GraphBreak ||
      error instanceof TapeMismatch ||
      error instanceof UnionMet ||
      error instanceof TostaticError ||
      (error instanceof Raised && !error.keepsEffects);
    if (!isUndone) throw error;
    t.sizes.holdForOneLength(t.position(), reasonOf(error));
    return undefined;
  }
}

function reasonOf(error: GraphBreak | TapeMismatch | UnionMet | TostaticError | Raised): string {
  if (error instanceof GraphBreak) return error.detail;
  if (error instanceof TostaticError) return error.message.split('\n', 1)[0]!;
  if (error instanceof TapeMismatch)
    return 'its elements, or what it makes of them, differ in shape';
  return error instanceof Raised
    ? 'it throws for some elements'
    : 'a value in it is data-dependent in kind';
}
