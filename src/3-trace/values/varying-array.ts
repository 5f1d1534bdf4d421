/**
 * Arrays of tensors that grow between calls. One trace serves any number of elements if the code only passes on all of
 * them together (`cat(cache)`) or reads elements by their distance from the end (`cache.at(-1)`).
 */

import { listLayout, tensorsAt } from '../../guards/list-layout.ts';
import type { NumberExpr } from '../../guards/number-expr.ts';
import { readsPlainly } from '../../guards/plain.ts';
import type { Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import { isGrowable } from '../control-flow/lists/growable-array.ts';
import { exhaust, varyingValues } from '../heap/varying-collections.ts';
import {
  type ElementPath,
  elementSource,
  layoutSource,
  type OuterTensors,
} from '../inputs/outer-tensors.ts';
import { comesFromBreak } from '../inputs/symbolic.ts';
import type { Tracer } from '../state/tracer.ts';
import { truthiness } from '../state/value-guards.ts';
import type { TensorList } from '../variables/tensor-list.ts';
import {
  hole,
  known,
  type NewArrayVariable,
  type ObjectVariable,
  type SymbolicVariable,
  type Variable,
} from '../variables/variable.ts';
import { type ArrayVariable, asArray, itemsOf, lengthBefore, solid } from './arrays.ts';
import { deferOperator } from './numbers.ts';
import { isPristine } from './protocols.ts';

interface VaryingTensors {
  readonly preceding: readonly Variable[];
  readonly tensors: TensorList;
  /** Values that the trace appended. */
  readonly appended: readonly Variable[];
}

/** Returns undefined if the number of elements has been constant so far, or if the trace uses single elements. */
export function outerTensors(t: Tracer, array: ArrayVariable): VaryingTensors | undefined {
  if (t.isInRegion) return undefined;
  // A copy keeps its tensors, whatever happens to the array later.
  if (array.kind === 'newArray') return array.extended;
  const [column] = columnsOf(t, array, [{ path: [], keys: undefined }]) ?? [];
  const content = t.effects.array(array.value)?.content;
  return column && { preceding: [], tensors: column, appended: content ? itemsOf(content) : [] };
}

/** Returns the tensors at each of the paths in the elements, under the conditions of `outerTensors`. */
export function columnsOf(
  t: Tracer,
  array: ObjectVariable,
  paths: readonly ElementPath[],
): readonly OuterTensors[] | undefined {
  const { value, source } = array;
  const content = t.effects.array(value)?.content;
  if (content && isGrowable(content)) return undefined;
  if (lengthBefore(t, array).kind !== 'symbolic' || listLayout(value) === undefined) {
    return undefined;
  }
  const elements = value as readonly unknown[];
  if (elements.some((_, i) => t.effects.written(value, source, String(i)))) return undefined;
  const columns: OuterTensors[] = [];
  for (const at of paths) {
    const tensors = tensorsAt(elements, at.path);
    if (!tensors || isWrittenOn(t, array, at.path)) return undefined;
    const column = t.useAll(source, tensors, at);
    if (!column) return undefined;
    columns.push(column);
  }
  t.sizes.addKey(layoutSource(source));
  return columns;
}

/** Returns whether the trace wrote a property on the path from an element to its tensor. */
function isWrittenOn(t: Tracer, array: ObjectVariable, path: readonly string[]): boolean {
  return (array.value as readonly unknown[]).some((element, i) => {
    let object = element as object;
    return path.some((key, depth) => {
      const source = elementSource(array.source, String(i), path.slice(0, depth));
      if (t.effects.array(object) || t.effects.written(object, source, key)) return true;
      object = Reflect.get(object, key) as object;
      return false;
    });
  });
}

/**
 * Returns the array of `[…, ...outer, …]`; undefined if it is created element by element. If the trace later needs
 * single elements, it restarts and creates this array element by element.
 */
export function extendedArray(
  t: Tracer,
  variable: Variable,
  preceding: readonly Variable[] = [],
  appended: readonly Variable[] = [],
): NewArrayVariable | undefined {
  if (isMadeByElements(t) || preceding.includes(hole) || appended.includes(hole)) return undefined;
  if (!isPristine(t, 'array')) return undefined;
  if (variable.kind === 'newArray' && variable.extended && !variable.named?.size) {
    const { extended } = variable;
    const before = [...preceding, ...extended.preceding];
    const after = [...extended.appended, ...appended];
    return manyTensors(t, { ...extended, preceding: before, appended: after });
  }
  const collection = extendedCollection(t, variable, preceding, appended);
  if (collection) return collection;
  if (variable.kind !== 'object') return undefined;
  const outer = asArray(t, variable);
  if (outer !== variable) return undefined;
  const all = outerTensors(t, outer);
  if (!all) return undefined;
  const [before, after] = [[...preceding], [...all.appended, ...appended]];
  const { tensors } = all;
  return manyTensors(t, { outer, preceding: before, tensors, isCopy: true, appended: after });
}

/** Like `extendedArray`, for a Set and for the values of a Map. */
function extendedCollection(
  t: Tracer,
  variable: Variable,
  preceding: readonly Variable[],
  appended: readonly Variable[],
): NewArrayVariable | undefined {
  const varying = varyingValues(t, variable);
  if (!varying) return undefined;
  const { values: outer, added } = varying;
  const [tensors] = columnsOf(t, outer, [{ path: [], keys: undefined }]) ?? [];
  if (!tensors) return undefined;
  if (variable.kind === 'iterator') exhaust(t, variable);
  const after = [...added.map(({ value }) => value), ...appended];
  const before = [...preceding];
  return manyTensors(t, { outer, preceding: before, tensors, isCopy: true, appended: after });
}

/** Returns whether an earlier trace needed single elements of the array created here. */
export function isMadeByElements(t: Tracer): boolean {
  const { closure, pc } = t.top;
  return t.control.plans.has('copied', closure.code, pc);
}

/** Returns an array, created here, of tensors whose number may differ in another call. */
export function manyTensors(
  t: Tracer,
  extended: NonNullable<NewArrayVariable['extended']>,
): NewArrayVariable {
  const { closure, pc } = t.top;
  const { plans } = t.control;
  return {
    kind: 'newArray',
    extended,
    get elements(): Variable[] {
      return plans.restartWith('copied', closure.code, pc);
    },
  };
}

/**
 * Returns an element of a pre-existing array by its distance from the end, which is 1 for the last one, without making
 * the length a constant of the trace; undefined if the length has been constant so far.
 */
export function elementFromEnd(
  t: Tracer,
  array: ArrayVariable,
  distance: number,
): Variable | undefined {
  if (array.kind !== 'object' || !(distance >= 1)) return undefined;
  const { value, source } = array;
  const appended = appendedTo(t, array);
  if (!appended) return undefined;
  if (distance <= appended.length) return solid(appended.at(-distance));
  const before = distance - appended.length;
  const length = lengthBefore(t, array);
  if (length.kind !== 'symbolic' || comesFromBreak(t, length)) return undefined;
  const elements = value as readonly unknown[];
  const index = elements.length - before;
  const isWritten = [...t.effects.entries()].some(([object]) => object === value);
  if (index < 0 || isWritten || !readsPlainly(value, String(index))) return undefined;
  const isThere = deferOperator(t, '>=', [length, known(before)]);
  if (!isThere || !truthiness(t, isThere)) return undefined;
  t.effects.met.touchEnd(value, source);
  const key = String(before);
  return t.read({ kind: 'query', base: source, query: 'fromEnd', key }, elements[index]);
}

/** Returns the values that the trace appended; undefined if their number is data-dependent. */
function appendedTo(t: Tracer, { value }: ObjectVariable): readonly Variable[] | undefined {
  const content = t.effects.array(value)?.content;
  if (!content) return [];
  return isGrowable(content) ? undefined : itemsOf(content);
}

/** `array[array.length - distance]`, like `elementFromEnd`. */
export function elementAtOffset(
  t: Tracer,
  base: Variable,
  { expr }: SymbolicVariable,
): Variable | undefined {
  const array = asArray(t, base);
  if (array?.kind !== 'object') return undefined;
  const offset = offsetFromLength(array, expr);
  const appended = appendedTo(t, array);
  if (offset === undefined || !appended) return undefined;
  return elementFromEnd(t, array, appended.length - offset);
}

/** Returns the difference between the number and the array's length before the trace, if it is a constant integer. */
export function offsetFromLength({ source }: ObjectVariable, expr: NumberExpr): number | undefined {
  const length: Source = { kind: 'property', base: source, key: 'length' };
  return offsetFrom(sourceKey(length), expr);
}

/** Returns the difference between the expression and the number at the source, if it is a constant integer. */
function offsetFrom(key: string, expr: NumberExpr): number | undefined {
  if (expr.kind === 'source') return sourceKey(expr.source) === key ? 0 : undefined;
  if (expr.kind !== 'apply' || expr.args.length !== 2) return undefined;
  const [left, right] = expr.args as [NumberExpr, NumberExpr];
  const offset = offsetFrom(key, left);
  const isInteger = right.kind === 'constant' && Number.isInteger(right.value);
  if (offset === undefined || !isInteger) return undefined;
  if (expr.fn === '+') return offset + right.value;
  return expr.fn === '-' ? offset - right.value : undefined;
}
