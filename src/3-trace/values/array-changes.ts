/** Adds and removes elements: immediately in arrays created in the trace, after the run in pre-existing ones. */

import { GraphBreak } from '../../traces/graph-break.ts';
import { expectForm, grow, isGrowable } from '../control-flow/lists/growable-array.ts';
import { isResultRead } from '../state/current-instruction.ts';
import type { Tracer } from '../state/tracer.ts';
import { guardChange } from '../state/value-guards.ts';
import {
  hole,
  known,
  type NewArrayVariable,
  undefinedVariable,
  type Variable,
} from '../variables/variable.ts';
import {
  type ArrayVariable,
  arrayLength,
  changeElements,
  itemsOf,
  lengthOf,
  solid,
  takeEnd,
  takeWhole,
} from './arrays.ts';
import { clearGrowable, popGrowable, pushGrowable, setGrowableElement } from './lists.ts';

/** `push`. The length of a pre-existing array is guarded only if the result is read. */
export function append(t: Tracer, array: ArrayVariable, items: readonly Variable[]): Variable {
  const pushed = array.kind === 'newArray' && t.rows?.iteration?.pushed.get(array);
  if (pushed && !isResultRead(t.top)) {
    pushed.push(...items);
    return undefinedVariable;
  }
  if (growsHere(t, array, items[0])) grow(t, array, expectForm(t, items[0]!));
  if (isGrowable(array)) return pushGrowable(t, array, items);
  if (array.kind === 'newArray') {
    const { extended, fixed } = array;
    if (!extended || fixed) return known(changeElements(t, array).push(...items));
    t.journal.keepList(extended.appended);
    extended.appended.push(...items);
    return isResultRead(t.top) ? lengthOf(t, array) : undefinedVariable;
  }
  append(t, takeEnd(t, array), items);
  return isResultRead(t.top) ? lengthOf(t, array) : undefinedVariable;
}

/** Returns true in a branch or loop if an earlier trace found that the array must be a list there. */
function growsHere(
  t: Tracer,
  array: ArrayVariable,
  sample: Variable | undefined,
): array is NewArrayVariable {
  if (array.kind !== 'newArray' || !sample || !t.isInRegion || !t.control.listsGrow) return false;
  return array.outer ? t.control.plans.growsFrom(array.outer.source) : array.born?.grows === true;
}

export function removeLast(t: Tracer, array: ArrayVariable): Variable {
  if (isGrowable(array)) return popGrowable(t, array);
  if (array.kind === 'object') {
    const content = t.effects.array(array.value)?.content;
    const hasEnd = content && !isGrowable(content) && itemsOf(content).length > 0;
    return removeLast(t, hasEnd ? content : takeWhole(t, array));
  }
  return solid(changeElements(t, array).pop());
}

/** `array[index] = value` */
export function setElement(t: Tracer, array: ArrayVariable, index: number, value: Variable): void {
  if (isGrowable(array)) {
    setGrowableElement(t, array, index, value);
    return;
  }
  if (array.kind === 'object' && !t.effects.array(array.value)) {
    const descriptor = Object.getOwnPropertyDescriptor(array.value, String(index));
    if (descriptor?.writable) {
      guardChange(t, array.source, 'write', String(index));
      t.effects.write(array.value, array.source, String(index), value);
      return;
    }
    if (descriptor)
      throw new GraphBreak('object-write', `element ${index} is fixed or has a setter`);
  }
  const length = arrayLength(t, array);
  if (index > length) setLength(t, array, index);
  if (index >= length) append(t, array, [value]);
  else changeElements(t, array)[index] = value;
}

/** `delete array[index]` */
export function deleteElement(t: Tracer, array: ArrayVariable, index: number): void {
  if (index < arrayLength(t, array)) changeElements(t, array)[index] = hole;
}

/** Longer arrays are created natively. */
const maxLength = 2 ** 16;

/** `array.length = length` */
export function setLength(t: Tracer, array: ArrayVariable, length: number): void {
  if (!Number.isInteger(length) || length < 0 || length > maxLength) {
    throw new GraphBreak('object-write', `the length of an array becomes ${length}`);
  }
  if (array.kind === 'object') {
    setLength(t, takeWhole(t, array), length);
    return;
  }
  if (isGrowable(array) && length === 0) {
    clearGrowable(t, array);
    return;
  }
  const elements = changeElements(t, array);
  const missing = Math.max(length - elements.length, 0);
  elements.length = Math.min(length, elements.length);
  elements.push(...new Array<Variable>(missing).fill(hole));
}
