/** The places of what the trace has made. */

import type { Tracer } from '../tracer.ts';
import { type IteratorVariable, known, type Variable } from '../variable.ts';
import { isGrown } from './grown-array.ts';
import { type Add, fixed, type Place } from './place.ts';
import { idOf } from './variable-class.ts';

/** The elements, fields, entries and positions that may hold something else later. */
export function addParts(variable: Variable, add: Add): void {
  const id = idOf(variable);
  const part = (key: string, name: string, set: Place['set'], value: Variable) =>
    add({ key: `${id} ${key}`, name, register: null, set }, value);
  switch (variable.kind) {
    case 'newArray':
      if (variable.grown) {
        for (const key of ['items', 'length'] as const) {
          const set = (t: Tracer, next: Variable) => {
            const { grown } = variable;
            t.journal.note(() => Object.assign(variable, { grown }));
            variable.grown = { ...grown!, [key]: next };
          };
          const name = `the ${key === 'items' ? 'elements' : 'length'} of an array`;
          const place = { key: `${id} ${key}`, name, register: null, set, array: variable };
          add(place, variable.grown[key]);
        }
        return;
      }
      for (const [i, value] of variable.elements.entries()) {
        const set = (t: Tracer, next: Variable) => {
          t.journal.keepList(variable.elements);
          variable.elements[i] = next;
        };
        const name = `element ${i} of an array`;
        const at = { part: 'element', array: variable } as const;
        add({ key: `${id} [${i}]`, name, register: null, set, ...at }, value);
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
      return;
    case 'newCollection':
      for (const [entry, { key, value }] of variable.entries) {
        const set = (t: Tracer, next: Variable) => {
          t.journal.keepMap(variable.entries);
          variable.entries.set(entry, { key, value: next });
        };
        const name = `an entry of a ${variable.type}`;
        const which = typeof entry === 'object' && entry ? idOf(entry) : String(entry);
        const place = `${id} entry ${typeof entry} ${which}`;
        add({ key: place, name, register: null, set, part: 'entry' }, value);
      }
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
      addPosition(variable, variable, add);
      add(
        {
          key: `${id} next`,
          name: 'an iterator',
          register: null,
          set: fixed,
          iteration: variable,
        },
        known(`${variable.done} ${variable.next}`),
      );
      return;
    case 'iteratorRecord':
      if (variable.direct && variable.iterator.kind === 'iterator') {
        addPosition(variable.iterator, variable, add);
      }
      add(
        {
          key: `${id} done`,
          name: 'an iteration',
          register: null,
          set: fixed,
          iteration: variable,
        },
        known(`${variable.done} ${stepsOf(variable.iterator)}`),
      );
      return;
    default:
  }
}

/** Of an iteration over an array whose length only the program knows: how many steps it has taken. */
function addPosition(iterator: IteratorVariable, iteration: Variable, add: Add): void {
  if (!isGrown(iterator.over)) return;
  const set = (t: Tracer, next: Variable) => {
    const { position } = iterator;
    t.journal.note(() => Object.assign(iterator, { position }));
    iterator.position = next.kind === 'scalar' ? next : undefined;
  };
  const key = `${idOf(iterator)} position`;
  const place = { key, name: 'the position of an iteration', register: null, set, iteration };
  add(place, iterator.position ?? known(iterator.next));
}

function stepsOf(iterator: Variable): number {
  return iterator.kind === 'iterator' ? iterator.next : 0;
}
