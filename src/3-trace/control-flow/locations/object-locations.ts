/** Locations in objects created in the trace. */

import { liveDuring } from '../../../vm/bytecode/liveness.ts';
import { putInto } from '../../heap/collections.ts';
import { labelOf, orderLocation, orderOf } from '../../heap/key-order.ts';
import { type Add, fixed } from '../../state/location.ts';
import { idOf } from '../../state/object-ids.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { GrowableList, ListVariable } from '../../variables/growable-list.ts';
import type { GeneratorVariable, IteratorVariable } from '../../variables/iterator-variables.ts';
import {
  type CellVariable,
  type DeviceScalar,
  known,
  type NewArrayVariable,
  type NewCollectionVariable,
  type NewObjectVariable,
  undefinedVariable,
  type Variable,
} from '../../variables/variable.ts';
import { type GrowableArray, growableIn } from '../lists/growable-array.ts';

/** Returns the key of an element's location. */
export const elementKey = (array: NewArrayVariable, index: number): string =>
  `${idOf(array)} [${index}]`;

/** Adds elements, fields, entries and positions, whose values may change. */
export function addParts(t: Tracer, variable: Variable, add: Add): void {
  switch (variable.kind) {
    case 'newArray':
      if (variable.growable) addLists(variable as GrowableArray, add);
      else addElements(variable, add);
      return;
    case 'newObject':
      addFields(variable, add);
      addSymbols(variable, add);
      add(orderLocation(variable), orderOf(variable));
      return;
    case 'newCollection':
      addEntries(variable, add);
      add(orderLocation(variable), orderOf(variable));
      return;
    case 'cell':
      addContent(variable, add);
      return;
    case 'iterator':
      addPosition(t, variable, variable, add);
      addState('next', 'an iterator', variable, stateOf(t, variable), add);
      return;
    case 'iteratorRecord': {
      const { iterator, direct, done } = variable;
      if (direct && iterator.kind === 'iterator') addPosition(t, iterator, variable, add);
      addState('done', 'an iteration', variable, stateOf(t, iterator, done), add);
      return;
    }
    case 'generator':
      addGenerator(t, variable, add);
      return;
    default:
  }
}

function addElements(array: NewArrayVariable, add: Add): void {
  for (const [i, value] of array.elements.entries()) {
    const set = (t: Tracer, next: Variable) => {
      t.journal.keepList(array.elements);
      array.elements[i] = next;
    };
    const name = `element ${i} of an array`;
    add({ key: elementKey(array, i), name, register: null, set, part: 'element', array }, value);
  }
}

function addFields(object: NewObjectVariable, add: Add): void {
  for (const [key, value] of object.entries) {
    const set = (t: Tracer, next: Variable) => {
      t.journal.keepMap(object.entries);
      object.entries.set(key, next);
    };
    const location = `${idOf(object)} .${key}`;
    add({ key: location, name: `.${key}`, register: null, set, part: 'property' }, value);
  }
}

function addEntries(collection: NewCollectionVariable, add: Add): void {
  for (const [entry, { key, value }] of collection.entries) {
    const set = (t: Tracer, next: Variable) => {
      t.journal.keepMap(collection.entries);
      collection.entries.set(entry, { key, value: next });
    };
    const name = `an entry of a ${collection.type}`;
    const location = `${idOf(collection)} entry ${labelOf(entry)}`;
    add({ key: location, name, register: null, set, part: 'entry' }, value);
  }
}

function addContent(cell: CellVariable, add: Add): void {
  const set = (t: Tracer, next: Variable) => {
    t.journal.set(cell, 'content', next);
  };
  const name = 'a variable shared with a closure';
  add({ key: `${idOf(cell)} content`, name, register: null, set }, cell.content);
}

/** Adds the state of an iteration, which must not differ between paths. */
function addState(key: string, name: string, iteration: Variable, state: Variable, add: Add): void {
  const location = {
    key: `${idOf(iteration)} ${key}`,
    name,
    register: null,
    set: fixed,
    iteration,
  };
  add(location, state);
}

/** Adds the content of symbol-keyed properties. All paths have the same symbols, in the same order. */
function addSymbols(object: NewObjectVariable, add: Add): void {
  const { traits } = object;
  if (!traits) return;
  for (const [i, [key, value]] of [...traits.symbols].entries()) {
    const set = (t: Tracer, next: Variable) => {
      t.journal.keepMap(traits.symbols);
      traits.symbols.set(key, next);
    };
    const name = `.${key.description}`;
    add({ key: `${idOf(object)} symbol ${i}`, name, register: null, set, part: 'property' }, value);
  }
}

/**
 * Adds a generator's position and the registers that are live at its `yield`: a loop may carry them like those of
 * any frame. A running generator is on the stack as a frame.
 */
function addGenerator(t: Tracer, generator: GeneratorVariable, add: Add): void {
  const { state, frame } = generator;
  const { closure, pc, registers, delegate } = frame;
  addState('next', 'a generator', generator, known(`${state} ${pc}`), add);
  if (delegate) {
    const { iterator, done } = delegate.iteration;
    if (iterator.kind === 'iterator') addPosition(t, iterator, generator, add);
    addState('yield*', 'a generator', generator, stateOf(t, iterator, done), add);
  }
  if (state !== 'yield' && state !== 'start') return;
  for (const register of liveDuring(closure.code, pc)) {
    const set = (t: Tracer, next: Variable) => {
      t.journal.set(registers, register, next);
    };
    const name = closure.code.registerNames[register] ?? 'a value of a generator';
    const key = `${idOf(generator)} register ${register}`;
    const location = { key, name, register: null, set, iteration: generator };
    add(location, registers[register] ?? undefinedVariable);
  }
}

/** Adds the lists and the length of an array of data-dependent length. */
function addLists(array: GrowableArray, add: Add): void {
  const { form, lists, length } = array.growable;
  const location = (
    key: string,
    name: string,
    change: (next: Variable) => Partial<GrowableList>,
  ) => {
    const set = (t: Tracer, next: Variable) => {
      t.journal.set(array, 'growable', { ...array.growable, ...change(next) });
    };
    return { key: `${idOf(array)} ${key}`, name, register: null, set, array, form };
  };
  for (const [i, list] of lists.entries()) {
    const change = (next: Variable) => ({
      lists: array.growable.lists.with(i, next as ListVariable),
    });
    add(location(`list ${i}`, 'the elements of an array', change), list);
  }
  const change = (next: Variable) => ({ length: next as DeviceScalar });
  add(location('length', 'the length of an array', change), length);
}

/** Adds the position of an iteration over an array of data-dependent length. */
function addPosition(t: Tracer, iterator: IteratorVariable, iteration: Variable, add: Add): void {
  if (!growableIn(t, iterator.over)) return;
  const set = (t: Tracer, next: Variable) => {
    t.journal.set(iterator, 'position', next.kind === 'scalar' ? next : undefined);
  };
  const key = `${idOf(iterator)} position`;
  const location = { key, name: 'the position of an iteration', register: null, set, iteration };
  add(location, iterator.position ?? known(iterator.next));
}

/** Returns the iterator's position, and the keys it has passed but will visit again. */
function stateOf(t: Tracer, iterator: Variable, done = false): Variable {
  if (iterator.kind !== 'iterator') return known(`${done}`);
  const { over, next, passed, heard } = iterator;
  const state = `${done || iterator.done} ${next}`;
  const isArray = over.kind === 'newArray' || over.kind === 'newTypedArray';
  if (isArray || growableIn(t, over)) return known(state);
  const again = putInto(t, over)
    .slice(heard)
    .filter((key) => passed.has(key));
  return known(`${state} ${again.map(labelOf).join()}`);
}
