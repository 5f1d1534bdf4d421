/** Locations in objects created in the trace. */

import { liveDuring } from '../../../vm/bytecode/liveness.ts';
import { putInto } from '../../heap/collections.ts';
import { labelOf, orderLocation, orderOf } from '../../heap/key-order.ts';
import { type Add, fixed, type Location } from '../../state/location.ts';
import { idOf } from '../../state/object-ids.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { GrowableList, ListVariable } from '../../variables/growable-list.ts';
import type { GeneratorVariable, IteratorVariable } from '../../variables/iterator-variables.ts';
import {
  type DeviceScalar,
  known,
  type NewArrayVariable,
  type NewObjectVariable,
  undefinedVariable,
  type Variable,
} from '../../variables/variable.ts';
import { type GrowableArray, grownIn } from '../lists/growable-array.ts';

/** Returns the key of an element's location. */
export const elementKey = (array: NewArrayVariable, index: number): string =>
  `${idOf(array)} [${index}]`;

/** Adds elements, fields, entries and positions, whose values may change. */
export function addParts(t: Tracer, variable: Variable, add: Add): void {
  const id = idOf(variable);
  const part = (key: string, name: string, set: Location['set'], value: Variable) =>
    add({ key: `${id} ${key}`, name, register: null, set }, value);
  switch (variable.kind) {
    case 'newArray':
      if (variable.grown) {
        addLists(variable as GrowableArray, add);
        return;
      }
      for (const [i, value] of variable.elements.entries()) {
        const set = (t: Tracer, next: Variable) => {
          t.journal.keepList(variable.elements);
          variable.elements[i] = next;
        };
        const name = `element ${i} of an array`;
        const at = { part: 'element', array: variable } as const;
        add({ key: elementKey(variable, i), name, register: null, set, ...at }, value);
      }
      return;
    case 'newObject':
      for (const [key, value] of variable.entries) {
        const set = (t: Tracer, next: Variable) => {
          t.journal.keepMap(variable.entries);
          variable.entries.set(key, next);
        };
        const name = `.${key}`;
        add({ key: `${id} .${key}`, name, register: null, set, part: 'property' }, value);
      }
      addSymbols(variable, add);
      add(orderLocation(variable), orderOf(variable));
      return;
    case 'newCollection':
      for (const [entry, { key, value }] of variable.entries) {
        const set = (t: Tracer, next: Variable) => {
          t.journal.keepMap(variable.entries);
          variable.entries.set(entry, { key, value: next });
        };
        const name = `an entry of a ${variable.type}`;
        const location = `${id} entry ${labelOf(entry)}`;
        add({ key: location, name, register: null, set, part: 'entry' }, value);
      }
      add(orderLocation(variable), orderOf(variable));
      return;
    case 'cell': {
      const set = (t: Tracer, next: Variable) => {
        const before = variable.content;
        t.journal.note(() => {
          variable.content = before;
        });
        variable.content = next;
      };
      part('content', 'a variable shared with a closure', set, variable.content);
      return;
    }
    case 'iterator':
      addPosition(t, variable, variable, add);
      add(
        {
          key: `${id} next`,
          name: 'an iterator',
          register: null,
          set: fixed,
          iteration: variable,
        },
        stateOf(t, variable),
      );
      return;
    case 'iteratorRecord':
      if (variable.direct && variable.iterator.kind === 'iterator') {
        addPosition(t, variable.iterator, variable, add);
      }
      add(
        {
          key: `${id} done`,
          name: 'an iteration',
          register: null,
          set: fixed,
          iteration: variable,
        },
        stateOf(t, variable.iterator, variable.done),
      );
      return;
    case 'generator':
      addGenerator(t, variable, add);
      return;
    default:
  }
}

/** Adds the content of symbol-keyed properties. All paths have the same ones, in the same order. */
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
  const id = idOf(generator);
  const iteration = generator;
  add(
    { key: `${id} next`, name: 'a generator', register: null, set: fixed, iteration },
    known(`${state} ${pc}`),
  );
  if (delegate) {
    const { iterator, done } = delegate.iteration;
    if (iterator.kind === 'iterator') addPosition(t, iterator, generator, add);
    add(
      { key: `${id} yield*`, name: 'a generator', register: null, set: fixed, iteration },
      stateOf(t, iterator, done),
    );
  }
  if (state !== 'yield' && state !== 'start') return;
  for (const register of liveDuring(closure.code, pc)) {
    const set = (t: Tracer, next: Variable) => {
      const before = registers[register];
      t.journal.note(() => {
        registers[register] = before;
      });
      registers[register] = next;
    };
    const name = closure.code.registerNames[register] ?? 'a value of a generator';
    const key = `${id} register ${register}`;
    add({ key, name, register: null, set, iteration }, registers[register] ?? undefinedVariable);
  }
}

/** Adds the lists and the length of an array of data-dependent length. */
function addLists(array: GrowableArray, add: Add): void {
  const { form, lists, length } = array.grown;
  const location = (
    key: string,
    name: string,
    change: (next: Variable) => Partial<GrowableList>,
  ) => {
    const set = (t: Tracer, next: Variable) => {
      const { grown } = array;
      t.journal.note(() => Object.assign(array, { grown }));
      Object.assign(array, { grown: { ...grown, ...change(next) } });
    };
    return { key: `${idOf(array)} ${key}`, name, register: null, set, array, form };
  };
  for (const [i, list] of lists.entries()) {
    const change = (next: Variable) => ({ lists: array.grown.lists.with(i, next as ListVariable) });
    add(location(`list ${i}`, 'the elements of an array', change), list);
  }
  const change = (next: Variable) => ({ length: next as DeviceScalar });
  add(location('length', 'the length of an array', change), length);
}

/** Adds the position of an iteration over an array of data-dependent length. */
function addPosition(t: Tracer, iterator: IteratorVariable, iteration: Variable, add: Add): void {
  if (!grownIn(t, iterator.over)) return;
  const set = (t: Tracer, next: Variable) => {
    const { position } = iterator;
    t.journal.note(() => Object.assign(iterator, { position }));
    iterator.position = next.kind === 'scalar' ? next : undefined;
  };
  const key = `${idOf(iterator)} position`;
  const location = { key, name: 'the position of an iteration', register: null, set, iteration };
  add(location, iterator.position ?? known(iterator.next));
}

/** Returns the iterator's position, and the passed keys that it will visit again. */
function stateOf(t: Tracer, iterator: Variable, done = false): Variable {
  if (iterator.kind !== 'iterator') return known(`${done}`);
  const { over, next, passed, heard } = iterator;
  const state = `${done || iterator.done} ${next}`;
  const isArray = over.kind === 'newArray' || over.kind === 'newTypedArray';
  if (isArray || grownIn(t, over)) return known(state);
  const again = putInto(t, over)
    .slice(heard)
    .filter((key) => passed.has(key));
  return known(`${state} ${again.map(labelOf).join()}`);
}
