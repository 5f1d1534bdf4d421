/**
 * Arrays of tensors that grow between calls, as operands of the tensor API: `cat(cache)`. One trace serves any
 * number of elements, as long as the code only passes all of them on together.
 */

import { listLayout, tensorsAt } from '../../guards/list-layout.ts';
import { isGrown } from '../control-flow/lists/growable-array.ts';
import {
  type ElementPath,
  elementSource,
  layoutSource,
  type OuterTensors,
} from '../inputs/outer-tensors.ts';
import type { Tracer } from '../state/tracer.ts';
import type { TensorList } from '../variables/tensor-list.ts';
import {
  hole,
  type NewArrayVariable,
  type ObjectVariable,
  type Variable,
} from '../variables/variable.ts';
import { type ArrayVariable, asArray, itemsOf, lengthBefore } from './arrays.ts';
import { isPristine } from './protocols.ts';

interface VaryingTensors {
  readonly preceding: readonly Variable[];
  readonly tensors: TensorList;
  /** Values that the trace has appended. */
  readonly appended: readonly Variable[];
}

/** Returns undefined if the number of elements has been constant so far, or if the trace uses single elements. */
export function outerTensors(t: Tracer, array: ArrayVariable): VaryingTensors | undefined {
  if (t.isInRegion) return undefined;
  // The tensors of the copy, whatever happens to the array afterwards.
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
  if (content && isGrown(content)) return undefined;
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

/** Returns whether the trace has written a property on the way from an element to its tensor. */
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
 * Returns the array of `[…, ...outer, …]`; undefined if it is made element by element. If the trace needs single elements
 * after all, it starts again, and makes this one element by element.
 */
export function extendedArray(
  t: Tracer,
  given: Variable,
  preceding: readonly Variable[] = [],
  appended: readonly Variable[] = [],
): NewArrayVariable | undefined {
  if (isMadeByElements(t) || preceding.includes(hole) || appended.includes(hole)) return undefined;
  if (!isPristine(t, 'array')) return undefined;
  if (given.kind === 'newArray' && given.extended && !given.named?.size) {
    const { extended } = given;
    const before = [...preceding, ...extended.preceding];
    const after = [...extended.appended, ...appended];
    return manyTensors(t, { ...extended, preceding: before, appended: after });
  }
  if (given.kind !== 'object') return undefined;
  const outer = asArray(t, given);
  if (outer !== given) return undefined;
  const all = outerTensors(t, outer);
  if (!all) return undefined;
  const [before, after] = [[...preceding], [...all.appended, ...appended]];
  const { tensors } = all;
  return manyTensors(t, { outer, preceding: before, tensors, isCopy: true, appended: after });
}

/** Returns whether an earlier trace needed single elements of the array that is made here. */
export function isMadeByElements(t: Tracer): boolean {
  const { closure, pc } = t.top;
  return t.control.plans.copiesElements(closure.code, pc);
}

/** Returns an array that is made here of tensors whose number may differ in another call. */
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
      return plans.copyElements(closure.code, pc);
    },
  };
}
