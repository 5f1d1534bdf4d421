/**
 * Arrays made inside and arrays from outside, read and changed the same way. One from outside is
 * changed after the run: appended to, or filled anew.
 */

import { allows, isPlainArray, isProxy, readsPlainly } from '../guards/plain.ts';
import type { Source } from '../guards/source.ts';
import { sourceKey } from '../guards/source-key.ts';
import { GraphBreak } from '../traces/graph-break.ts';
import { present, settled } from './choices.ts';
import { constantOf, guardChange, sourceOf } from './facts.ts';
import { expectForm, grow, isGrown } from './graph-control/grown-array.ts';
import { unknownLength } from './graph-control/list-elements.ts';
import { expectUnlisted } from './graph-control/listed.ts';
import {
  clearGrown,
  grownElement,
  isInGrown,
  popGrown,
  pushGrown,
  setGrownElement,
} from './graph-control/lists.ts';
import { countedOn, putOffOperator } from './numbers.ts';
import type { Tracer } from './tracer.ts';
import {
  absent,
  hole,
  known,
  type NewArrayVariable,
  type ObjectVariable,
  undefinedVariable,
  type Variable,
} from './variable.ts';

export type ArrayVariable = NewArrayVariable | ObjectVariable;

/** The variable as an array of the language's own kind, or undefined when it is none. */
export function asArray(t: Tracer, given: Variable): ArrayVariable | undefined {
  const variable = settled(given);
  if (variable.kind === 'newArray') return variable;
  if (variable.kind !== 'object') return undefined;
  const { value, source } = variable;
  if (isProxy(value) || !isPlainArray(value)) return undefined;
  t.guard(`plainArray ${sourceKey(source)}`, { kind: 'plainArray', source });
  return variable;
}

/** `Array.isArray(x)` */
export function isArray(t: Tracer, given: Variable): boolean {
  const variable = settled(given);
  if (variable.kind === 'newArray') return !variable.isArguments;
  const source = sourceOf(variable);
  const isArray = variable.kind === 'object' && Array.isArray(variable.value);
  if (source) t.guard(`isArray ${sourceKey(source)}`, { kind: 'isArray', source, isArray });
  return isArray;
}

/** A key that names an element: `'01'` names an ordinary property. */
export function isIndex(key: string): boolean {
  return /^(?:0|[1-9]\d*)$/.test(key);
}

/** Those that are there. Throws ChoiceMet where only a run can tell. */
function itemsOf({ elements }: NewArrayVariable): readonly Variable[] {
  const isSure = elements.every((each) => each.kind !== 'choice' && each !== absent);
  if (isSure) return elements;
  return elements.filter((each) => present(each) !== undefined);
}

/** The length as a value, on which nothing depends yet. */
export function lengthOf(t: Tracer, array: ArrayVariable): Variable {
  if (isGrown(array)) return array.grown.length;
  if (array.kind === 'newArray') return known(itemsOf(array).length);
  const changed = t.effects.array(array.value);
  if (changed?.elements) return known(changed.elements.length);
  const length = lengthBefore(t, array);
  const appended = changed?.appended.length ?? 0;
  if (appended === 0) return length;
  return (
    countedOn(t, length, appended) ??
    putOffOperator(t, '+', [length, known(appended)]) ??
    known((constantOf(t, length) as number) + appended)
  );
}

export function arrayLength(t: Tracer, array: ArrayVariable): number {
  if (isGrown(array)) throw unknownLength();
  return constantOf(t, lengthOf(t, array)) as number;
}

/** Of the array as it was before the trace. */
function lengthBefore(t: Tracer, { value, source }: ObjectVariable): Variable {
  t.effects.met.touch(value, source, 'length');
  const { length } = value as readonly unknown[];
  return t.read({ kind: 'property', base: source, key: 'length' }, length);
}

export function arrayElement(t: Tracer, array: ArrayVariable, index: number): Variable {
  if (isGrown(array)) return grownElement(t, array, index);
  const element = elementOrHole(t, array, index);
  return element === hole ? undefinedVariable : element;
}

function elementOrHole(t: Tracer, array: ArrayVariable, index: number): Variable {
  if (array.kind === 'newArray') return itemsOf(array)[index] ?? undefinedVariable;
  const { value, source } = array;
  const changed = t.effects.array(value);
  if (changed?.elements) {
    t.effects.met.touch(value, source, String(index));
    return changed.elements[index] ?? undefinedVariable;
  }
  if (changed && changed.appended.length > 0) {
    const before = constantOf(t, lengthBefore(t, array)) as number;
    if (index >= before) return changed.appended[index - before] ?? undefinedVariable;
  }
  return outerElement(t, array, index);
}

function outerElement(t: Tracer, { value, source }: ObjectVariable, index: number): Variable {
  const key = String(index);
  const written = t.effects.written(value, source, key);
  if (written) return written;
  if (!readsPlainly(value, key)) throw new GraphBreak('getter', `reading element ${key}`);
  const element = (value as readonly unknown[])[index];
  return t.read({ kind: 'property', base: source, key }, element);
}

export function arrayElements(t: Tracer, array: ArrayVariable): Variable[] {
  return Array.from({ length: arrayLength(t, array) }, (_, i) => arrayElement(t, array, i));
}

/** Whether `index in array`. */
export function hasElement(t: Tracer, array: ArrayVariable, index: number): boolean {
  if (isGrown(array)) return isInGrown(t, array, index);
  if (index >= arrayLength(t, array)) return false;
  if (elementOrHole(t, array, index) === hole) return false;
  if (array.kind === 'newArray') return true;
  const { value, source } = array;
  const before = value as readonly unknown[];
  const key = String(index);
  if (t.effects.array(value)?.elements || index >= before.length) return true;
  if (t.effects.written(value, source, key)) return true;
  const place: Source = { kind: 'hasProperty', base: source, key, own: true };
  return constantOf(t, t.read(place, Object.hasOwn(before, key))) as boolean;
}

/** The elements for a copy that keeps holes; one with holes is copied natively. */
export function solidElements(t: Tracer, array: ArrayVariable): Variable[] {
  const elements = arrayElements(t, array);
  if (!elements.every((_, i) => hasElement(t, array, i))) {
    throw new GraphBreak('unsupported-value', 'an array has holes');
  }
  return elements;
}

/** The list to change: what is done to it is done to the array. */
export function changeElements(t: Tracer, array: ArrayVariable): Variable[] {
  if (array.kind === 'newArray') {
    expectUnlisted(array);
    const items = itemsOf(array);
    t.journal.keepList(array.elements);
    if (items !== array.elements) array.elements.splice(0, array.elements.length, ...items);
    return array.elements;
  }
  const { value, source } = array;
  expectChangeable(t, array);
  const known = t.effects.array(value)?.elements;
  const elements = known ?? solidElements(t, array);
  const changed = t.effects.changeArray(value, source);
  return known ?? t.effects.takeElements(value, changed, elements);
}

/** `push`: of an array from outside not even the length has to be known. */
export function append(t: Tracer, array: ArrayVariable, items: readonly Variable[]): Variable {
  if (growsHere(t, array, items)) grow(t, array, expectForm(t, items[0]!));
  if (isGrown(array)) return pushGrown(t, array, items);
  if (array.kind === 'newArray' || t.effects.array(array.value)?.elements) {
    return known(changeElements(t, array).push(...items));
  }
  expectChangeable(t, array);
  t.effects.changeArray(array.value, array.source).appended.push(...items);
  return lengthOf(t, array);
}

/** In a branch or turn, of an array that is a list there, as an earlier trace has found out. */
function growsHere(
  t: Tracer,
  array: ArrayVariable,
  items: readonly Variable[],
): array is NewArrayVariable {
  return (
    array.kind === 'newArray' &&
    array.born?.grows === true &&
    t.control.listsGrow &&
    t.isInRegion &&
    items.length > 0
  );
}

export function removeLast(t: Tracer, array: ArrayVariable): Variable {
  if (isGrown(array)) return popGrown(t, array);
  if (array.kind === 'object') {
    const changed = t.effects.array(array.value);
    if (changed && changed.appended.length > 0) {
      return t.effects.changeArray(array.value, array.source).appended.pop()!;
    }
  }
  return solid(changeElements(t, array).pop());
}

/** `array[index] = value` */
export function setElement(t: Tracer, array: ArrayVariable, index: number, value: Variable): void {
  if (isGrown(array)) {
    setGrownElement(t, array, index, value);
    return;
  }
  if (array.kind === 'object' && !t.effects.array(array.value)) {
    const own = Object.getOwnPropertyDescriptor(array.value, String(index));
    if (own?.writable) {
      guardChange(t, array.source, 'write', String(index));
      t.effects.write(array.value, array.source, String(index), value);
      return;
    }
  }
  const length = arrayLength(t, array);
  if (index > length) throw new GraphBreak('object-write', 'an array is written past its end');
  if (index === length) append(t, array, [value]);
  else changeElements(t, array)[index] = value;
}

/** Longer arrays are made natively. */
const maxLength = 2 ** 16;

/** `array.length = length` */
export function setLength(t: Tracer, array: ArrayVariable, length: number): void {
  if (!Number.isInteger(length) || length < 0 || length > maxLength) {
    throw new GraphBreak('object-write', `the length of an array becomes ${length}`);
  }
  if (isGrown(array) && length === 0) {
    clearGrown(t, array);
    return;
  }
  const elements = changeElements(t, array);
  const missing = Math.max(length - elements.length, 0);
  elements.length = Math.min(length, elements.length);
  elements.push(...new Array<Variable>(missing).fill(hole));
}

/** A hole reads as undefined. */
export function solid(element: Variable | undefined): Variable {
  return element === undefined || element === hole ? undefinedVariable : element;
}

function expectChangeable(t: Tracer, { value, source }: ObjectVariable): void {
  if (!allows(value, 'resize', 'length')) {
    throw new GraphBreak('object-write', 'a frozen array is changed');
  }
  guardChange(t, source, 'resize', 'length');
}
