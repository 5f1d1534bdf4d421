/** What a way through the code may change, place by place. */

import { Tensor } from '../../../runtime/tensor/tensor.ts';
import { needsArguments } from '../../bytecode/call-inputs.ts';
import type { Pc, Reg } from '../../bytecode/instructions.ts';
import { liveBefore, liveDuring } from '../../bytecode/liveness.ts';
import { resolved } from '../choices.ts';
import type { EffectLog } from '../effects.ts';
import type { TraceFrame } from '../trace-frame.ts';
import type { Tracer } from '../tracer.ts';
import {
  type CellReference,
  type CollectionEntry,
  type IteratorVariable,
  known,
  type NewArrayVariable,
  undefinedVariable,
  type Variable,
} from '../variable.ts';
import { isGrown } from './grown-array.ts';
import { partsOf } from './parts.ts';
import { idOf } from './variable-class.ts';

/** Something that holds a variable and may hold another one later. */
export interface Place {
  readonly key: string;
  /** For errors: the variable's name, or what it belongs to. */
  readonly name: string;
  /** Of registers: who doesn't read this one afterwards doesn't need its value. */
  readonly register: Reg | null;
  /** An iteration is the language's own: it matters only as long as a register holds it. */
  readonly iteration?: Variable;
  set(t: Tracer, value: Variable): void;
  /** The value where the trace has written none: of something that existed before. */
  outside?(t: Tracer): Variable;
  /** `.grad` of a tensor from outside. */
  readonly isGradient?: boolean;
  /** An element, property or entry: it may be missing on some ways. */
  readonly part?: 'element' | 'property' | 'entry';
  /** The array that it is an element of, or whose content only the program knows. */
  readonly array?: NewArrayVariable;
}

/** What a place holds: the variable itself, and what is known of it at the moment. */
export interface Held {
  readonly place: Place;
  readonly raw: Variable;
  readonly value: Variable;
}

/** The values of all places at one moment. */
export type State = ReadonlyMap<string, Held>;

/** The objects made by the trace that can be reached at the moment, and may be changed. */
export function madeObjects(t: Tracer): ReadonlySet<Variable> {
  const found = new Set<Variable>();
  const pending: Variable[] = [];
  const reach = (variable: Variable | null | undefined) => {
    if (variable && !found.has(variable)) {
      found.add(variable);
      pending.push(variable);
    }
  };
  for (const frame of t.frames) {
    for (const variable of frame.registers) reach(variable);
    for (const variable of [...frame.args, ...frame.cells, frame.thisVariable]) reach(variable);
  }
  for (const { value } of t.effects.writes()) reach(value);
  for (let variable = pending.pop(); variable; variable = pending.pop()) {
    for (const part of partsOf(variable)) reach(part);
  }
  return found;
}

/** Those to which there is more than one way from what is read from one of the instructions on, or returned. */
export function heldMoreThanOnce(
  t: Tracer,
  frame: TraceFrame,
  pcs: readonly Pc[],
  returned: Variable | null = null,
): ReadonlySet<Variable> {
  const found = new Set<Variable>();
  const again = new Set<Variable>();
  const pending: Variable[] = [];
  const reach = (variable: Variable | null | undefined) => {
    if (!variable) return;
    if (found.has(variable)) again.add(variable);
    else {
      found.add(variable);
      pending.push(variable);
    }
  };
  for (const { closure, pc: at, ...each } of t.frames) {
    const { code } = closure;
    const isTop = each.registers === frame.registers;
    // A caller's pc is already past its call.
    const live = isTop ? pcs.flatMap((pc) => [...liveBefore(code)[pc]!]) : liveDuring(code, at - 1);
    for (const register of new Set(live)) reach(each.registers[register]);
    const reads = isTop ? pcs : [at];
    if (reads.some((pc) => needsArguments(code, pc))) each.args.forEach(reach);
    for (const variable of [...each.cells, each.thisVariable]) reach(variable);
  }
  for (const { value } of t.effects.writes()) reach(value);
  reach(returned);
  for (let variable = pending.pop(); variable; variable = pending.pop()) {
    for (const part of partsOf(variable)) reach(part);
  }
  return again;
}

/**
 * Reads every place: the registers of the top frame, the content of the objects in `made`, and what is
 * to be written after the run. Objects made since are copied, so that later changes don't show.
 */
export function stateOf(
  t: Tracer,
  frame: TraceFrame,
  made: ReadonlySet<Variable>,
  freeze = freezer(made),
): State {
  const state = new Map<string, Held>();
  const add = (place: Place, raw: Variable) => {
    state.set(place.key, { place, raw, value: freeze(raw) });
  };
  frame.registers.forEach((value, reg) => {
    add(registerPlace(frame, reg as Reg), value ?? undefinedVariable);
  });
  for (const variable of made) addParts(variable, add);
  addEffects(t.effects, add);
  add(randomPlace, t.random.position);
  addDisposals(t, add);
  return state;
}

/** How many random numbers were drawn. */
const randomPlace: Place = {
  key: 'random',
  name: 'the stream of random numbers',
  register: null,
  set: (t, value) => {
    t.random.position = value;
  },
};

type Add = (place: Place, value: Variable) => void;

function registerPlace(frame: TraceFrame, register: Reg): Place {
  return {
    key: `register ${register}`,
    name: frame.closure.code.registerNames[register] ?? 'a value',
    register,
    set: (_t, value) => {
      frame.registers[register] = value;
    },
  };
}

function addParts(variable: Variable, add: Add): void {
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

/** A place whose change can't be told as a value. */
const fixed: Place['set'] = () => {
  throw new Error('a fixed place is set');
};

export function isFixed(place: Place): boolean {
  return place.set === fixed;
}

function addEffects(effects: EffectLog, add: Add): void {
  for (const [object, { object: source, key, value }] of effects.entries()) {
    const place: Place = {
      key: `write ${idOf(object)} ${key}`,
      name: `.${key}`,
      register: null,
      isGradient: object instanceof Tensor && key === 'grad',
      set: (t, next) => t.effects.write(object, source, key, next),
      outside: (t) => {
        const value_: unknown = Reflect.get(object, key);
        return t.read({ kind: 'property', base: source, key }, value_);
      },
    };
    add(value ? place : { ...place, set: fixed }, value ?? known('deleted'));
  }
  const count = (key: string, name: string, size: number) =>
    add({ key, name, register: null, set: fixed, outside: () => known(0) }, known(size));
  for (const array of effects.arrays()) {
    const id = idOf(array);
    count(`${id} appended`, 'the length of an array', array.appended.length);
    count(`${id} elements`, 'the elements of an array', array.elements?.length ?? 0);
  }
  count('collections', 'the entries of a Map or Set', effects.collectionChanges.length);
}

/** Whether a tensor from before has been given back; of what a way has made itself nobody asks. */
function addDisposals(t: Tracer, add: Add): void {
  for (const [tensor, { variable, when }] of t.effects.disposed) {
    if (t.isInRegion && !variable.actual && tensor.traced?.builder === t.builder) continue;
    const place: Place = {
      key: `disposed ${idOf(tensor)}`,
      name: 'a disposed tensor',
      register: null,
      set: (_t, next) => t.effects.disposeWhen(variable, next),
      outside: () => known(false),
    };
    add(place, when ?? known(true));
  }
}

/** Copies of objects that were made since; others stand for themselves. */
export function freezer(made: ReadonlySet<Variable>): (variable: Variable) => Variable {
  const copies = new Map<Variable, Variable>();
  const freeze = (given: Variable): Variable => {
    const variable = resolved(given);
    if (made.has(variable)) return variable;
    const known_ = copies.get(variable);
    if (known_) return known_;
    switch (variable.kind) {
      case 'newArray': {
        if (variable.grown) {
          const same = { ...variable };
          copies.set(variable, same);
          return same;
        }
        const copy = { ...variable, elements: [] as Variable[] };
        copies.set(variable, copy);
        copy.elements.push(...variable.elements.map(freeze));
        return copy;
      }
      case 'newObject': {
        const copy = { ...variable, entries: new Map<string, Variable>() };
        copies.set(variable, copy);
        for (const [key, value] of variable.entries) copy.entries.set(key, freeze(value));
        return copy;
      }
      case 'newCollection': {
        const copy = { ...variable, entries: new Map<unknown, CollectionEntry>() };
        copies.set(variable, copy);
        for (const [id, { key, value }] of variable.entries) {
          copy.entries.set(id, { key: freeze(key), value: freeze(value) });
        }
        return copy;
      }
      case 'choice':
        return { ...variable, options: variable.options.map(freeze) };
      case 'closure': {
        const copy = { ...variable };
        copies.set(variable, copy);
        const cells = variable.cells.map((cell) => freeze(cell)) as CellReference[];
        return Object.assign(copy, { cells, thisVariable: freeze(variable.thisVariable) });
      }
      case 'cell': {
        const copy = { ...variable };
        copies.set(variable, copy);
        copy.content = freeze(variable.content);
        return copy;
      }
      default:
        return variable;
    }
  };
  return freeze;
}
