/**
 * Reads and changes arrays, both pre-existing ones and those created in the trace. A pre-existing array is changed
 * after the run, by appending to it or by refilling it.
 */

import { isChangingRate } from '../../../runtime/optim/changing-rates.ts';
import { allows, isPlainArray, isProxy, readsPlainly } from '../../guards/plain.ts';
import type { Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { isGrowable, setGrowable, TakenBefore } from '../control-flow/lists/growable-array.ts';
import { unknownLength } from '../control-flow/lists/list-elements.ts';
import { symbolicTensor } from '../control-flow/merge/leaves.ts';
import { scalarBinary } from '../control-flow/numbers/scalars.ts';
import { expectUnlisted } from '../state/listed.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf, guardChange, sourceOf, truthiness } from '../state/value-guards.ts';
import { present, specialized } from '../variables/unions.ts';
import {
  absent,
  type DeviceScalar,
  hole,
  known,
  type NewArrayVariable,
  newArray,
  type ObjectVariable,
  undefinedVariable,
  type Variable,
} from '../variables/variable.ts';
import { appendGrowable, growableElement, isInGrowable } from './lists.ts';
import { countedOn, deferOperator } from './numbers.ts';

export type ArrayVariable = NewArrayVariable | ObjectVariable;

/**
 * Returns the variable as an array, including subclasses; undefined for anything else. If the program appends a
 * data-dependent number of elements to a pre-existing array, returns its whole content, unless `use` is `end`.
 */
export function asArray(
  t: Tracer,
  argument: Variable,
  use: 'all' | 'end' = 'all',
): ArrayVariable | undefined {
  const variable = specialized(argument);
  if (variable.kind === 'newArray') return variable;
  if (variable.kind !== 'object') return undefined;
  const { value, source } = variable;
  if (isProxy(value) || !Array.isArray(value)) return undefined;
  if (isPlainArray(value))
    t.guard(`plainArray ${sourceKey(source)}`, { kind: 'plainArray', source });
  else t.guard(`isArray ${sourceKey(source)}`, { kind: 'isArray', source, isArray: true });
  const changed = t.effects.array(value);
  if (use === 'all' && changed && isGrowable(changed.content)) return takeWhole(t, variable);
  if (!changed?.whole) return variable;
  t.effects.met.touchContent(value, source);
  return changed.content;
}

/** `Array.isArray(x)` */
export function isArray(t: Tracer, value: Variable): boolean {
  const variable = specialized(value);
  if (variable.kind === 'newArray') return !variable.isArguments;
  const source = sourceOf(variable);
  const isArray = variable.kind === 'object' && Array.isArray(variable.value);
  if (source) t.guard(`isArray ${sourceKey(source)}`, { kind: 'isArray', source, isArray });
  return isArray;
}

/** Returns the elements that exist. Throws UnionMet if that is data-dependent. */
export function itemsOf({ elements }: NewArrayVariable): readonly Variable[] {
  for (const each of elements) {
    if (each.kind === 'union' || each === absent) {
      return elements.filter((one) => present(one) !== undefined);
    }
  }
  return elements;
}

/** Returns the length as a value that hasn't been guarded yet. */
export function lengthOf(t: Tracer, array: ArrayVariable): Variable {
  if (isGrowable(array)) return array.growable.length;
  if (array.kind === 'newArray') {
    const { extended } = array;
    if (!extended) return known(itemsOf(array).length);
    const { outer, preceding, count = lengthBefore(t, outer), appended } = extended;
    return longer(t, count, preceding.length + appended.length);
  }
  const length = lengthBefore(t, array);
  const content = t.effects.array(array.value)?.content;
  if (!content) return length;
  if (isGrowable(content)) return behind(t, length, content.growable.length);
  return longer(t, length, itemsOf(content).length);
}

function longer(t: Tracer, length: Variable, appended: number): Variable {
  if (appended === 0) return length;
  return (
    countedOn(t, length, appended) ??
    deferOperator(t, '+', [length, known(appended)]) ??
    known((constantOf(t, length) as number) + appended)
  );
}

/** Returns the sum without guarding the first length. */
function behind(t: Tracer, length: Variable, more: DeviceScalar): Variable {
  const source = length.kind === 'constant' ? length.source : null;
  const value = length.kind === 'constant' ? length.value : 0;
  if (!source || typeof value !== 'number') return scalarBinary(t, '+', more, length)!;
  const symbolic = { kind: 'symbolic', expr: { kind: 'source', source }, value, source } as const;
  const tensor = symbolicTensor(t, symbolic, t.device);
  return scalarBinary(t, '+', more, { kind: 'scalar', type: 'number', tensor })!;
}

export function arrayLength(t: Tracer, array: ArrayVariable): number {
  if (isGrowable(array)) throw unknownLength();
  return constantOf(t, lengthOf(t, array)) as number;
}

/** Returns the array's length before the trace. */
export function lengthBefore(t: Tracer, { value, source }: ObjectVariable): Variable {
  t.effects.met.touch(value, source, 'length');
  const { length } = value as readonly unknown[];
  return t.read({ kind: 'property', base: source, key: 'length' }, length);
}

export function arrayElement(t: Tracer, array: ArrayVariable, index: number): Variable {
  if (isGrowable(array)) return growableElement(t, array, index);
  const element = elementOrHole(t, array, index);
  return element === hole ? undefinedVariable : element;
}

function elementOrHole(t: Tracer, array: ArrayVariable, index: number): Variable {
  if (array.kind === 'newArray') return itemsOf(array)[index] ?? undefinedVariable;
  const content = t.effects.array(array.value)?.content;
  if (content && (isGrowable(content) || content.elements.length > 0)) {
    const length = lengthBefore(t, array);
    if (!isBelow(t, index, length)) {
      return arrayElement(t, content, index - (constantOf(t, length) as number));
    }
  }
  return outerElement(t, array, index);
}

/** Returns whether the index is below the length; in another call, the length may be any larger number. */
function isBelow(t: Tracer, index: number, length: Variable): boolean {
  const isThere = deferOperator(t, '<', [known(index), length]);
  return isThere ? truthiness(t, isThere) : index < (constantOf(t, length) as number);
}

function outerElement(t: Tracer, { value, source }: ObjectVariable, index: number): Variable {
  const key = String(index);
  const written = t.effects.written(value, source, key);
  if (written) return present(written) ?? hole;
  if (!readsPlainly(value, key)) throw new GraphBreak('getter', `reading element ${key}`);
  const element = (value as readonly unknown[])[index];
  return t.read({ kind: 'property', base: source, key }, element, isChangingRate(value, key));
}

export function arrayElements(t: Tracer, array: ArrayVariable): Variable[] {
  if (array.kind === 'newArray' && !isGrowable(array)) return itemsOf(array).map(solid);
  return Array.from({ length: arrayLength(t, array) }, (_, i) => arrayElement(t, array, i));
}

/** Returns whether `index in array`. */
export function hasElement(t: Tracer, array: ArrayVariable, index: number): boolean {
  if (isGrowable(array)) return isInGrowable(t, array, index);
  if (!isBelow(t, index, lengthOf(t, array))) return false;
  if (elementOrHole(t, array, index) === hole) return false;
  if (array.kind === 'newArray') return true;
  return index >= (array.value as readonly unknown[]).length || hasOuterElement(t, array, index);
}

/**
 * Returns whether a pre-existing array has the element, taking single-element writes and deletions into account.
 */
function hasOuterElement(t: Tracer, { value, source }: ObjectVariable, index: number): boolean {
  const key = String(index);
  const written = t.effects.written(value, source, key);
  if (written) return present(written) !== undefined;
  const presence: Source = { kind: 'hasProperty', base: source, key, own: true };
  return constantOf(t, t.read(presence, Object.hasOwn(value, key))) as boolean;
}

/** Returns the indices of the elements as keys, skipping holes. */
export function indexKeys(t: Tracer, array: ArrayVariable): string[] {
  const places = Array.from({ length: arrayLength(t, array) }, (_, i) => i);
  return places.filter((i) => hasElement(t, array, i)).map(String);
}

/** Returns the elements for a copy that keeps holes. */
export function elementsWithHoles(t: Tracer, array: ArrayVariable): Variable[] {
  const elements = arrayElements(t, array);
  return elements.map((element, i) => (hasElement(t, array, i) ? element : hole));
}

/** Returns the array's elements for in-place changes. */
export function changeElements(t: Tracer, array: ArrayVariable): Variable[] {
  if (array.kind === 'newArray') {
    expectUnlisted(array);
    if (array.fixed) throw new GraphBreak('object-write', 'a frozen array is changed');
    const items = itemsOf(array);
    t.journal.keepList(array.elements);
    if (items !== array.elements) array.elements.splice(0, array.elements.length, ...items);
    return array.elements;
  }
  return changeElements(t, takeWhole(t, array));
}

/**
 * Returns the whole future content of a pre-existing array, which is read and changed in its place. In a branch or
 * loop, this must have been called before the region begins, so that all paths start from the same content.
 */
export function takeWhole(t: Tracer, outer: ObjectVariable): NewArrayVariable {
  expectChangeable(t, outer);
  const known_ = t.effects.array(outer.value);
  if (known_?.whole) {
    t.effects.met.touchContent(outer.value, outer.source);
    return known_.content;
  }
  if (t.isInRegion) throw new TakenBefore(() => takeWhole(t, outer));
  const length = constantOf(t, lengthBefore(t, outer)) as number;
  const before = Array.from({ length }, (_, i) =>
    hasOuterElement(t, outer, i) ? outerElement(t, outer, i) : hole,
  );
  const changed = t.effects.changeArray(outer);
  const { content } = changed;
  if (isGrowable(content)) {
    const all = newArray(before);
    appendGrowable(t, all, content);
    setGrowable(t, content, all.growable!);
  } else {
    t.journal.keepList(content.elements);
    content.elements.unshift(...before);
  }
  t.effects.takeWhole(outer.value, changed);
  return content;
}

/** Returns the content that is appended to a pre-existing array. */
export function takeEnd(t: Tracer, outer: ObjectVariable): NewArrayVariable {
  expectChangeable(t, outer);
  const isNew = !t.effects.array(outer.value);
  if (isNew && t.isInRegion) throw new TakenBefore(() => takeEnd(t, outer));
  return t.effects.changeArray(outer).content;
}

/** Reads a hole as undefined. */
export function solid(element: Variable | undefined): Variable {
  return element === undefined || element === hole ? undefinedVariable : element;
}

function expectChangeable(t: Tracer, { value, source }: ObjectVariable): void {
  if (!allows(value, 'resize', 'length')) {
    throw new GraphBreak('object-write', 'a frozen array is changed');
  }
  guardChange(t, source, 'resize', 'length');
}
