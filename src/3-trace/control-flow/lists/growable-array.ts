/** Arrays of data-dependent length, which grow and shrink in loops of the program. */

import type { UserPosition } from '../../../../runtime/errors/position.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import { markListed } from '../../state/listed.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { GrowableList, ListTreeSpec } from '../../variables/growable-list.ts';
import { resolved } from '../../variables/unions.ts';
import type { NewArrayVariable, Variable } from '../../variables/variable.ts';
import { growableOf, missingElements } from './list-elements.ts';
import { formOf, joinForms, unlike, unlistable } from './list-tree-spec.ts';

/** An array that has become a list. */
export type GrowableArray = NewArrayVariable & { readonly growable: GrowableList };

export function isGrowable(variable: Variable): variable is GrowableArray {
  return variable.kind === 'newArray' && variable.growable !== undefined;
}

/** Returns the variable as a list; for a pre-existing array, the list that is its whole content. */
export function growableIn(t: Tracer, variable: Variable): GrowableArray | undefined {
  if (variable.kind !== 'object') return isGrowable(variable) ? variable : undefined;
  const changed = t.effects.array(variable.value);
  if (!changed?.whole || !isGrowable(changed.content)) return undefined;
  t.effects.met.touchContent(variable.value, variable.source);
  return changed.content;
}

/** Thrown if an array's length differs between paths: the array must become a list before they diverge. */
export class Grows extends Error {
  override readonly name = 'Grows';
  readonly array: NewArrayVariable;
  /** The structure of its future elements. */
  readonly form: ListTreeSpec;
  readonly #otherwise: GraphBreak;

  constructor(array: NewArrayVariable, form: ListTreeSpec, otherwise = changesElsewhere()) {
    super('the length of an array differs');
    this.array = array;
    this.form = form;
    this.#otherwise = otherwise;
  }

  withForm(form: ListTreeSpec): Grows {
    return new Grows(this.array, form, this.#otherwise);
  }

  /** Returns the graph break to throw if the array can't become a list. */
  asBreak(): GraphBreak {
    return this.#otherwise;
  }
}

/** Thrown if a path changes a pre-existing object whose content the trace must represent before the paths diverge. */
export class TakenBefore extends Error {
  override readonly name = 'TakenBefore';
  readonly take: () => void;

  constructor(take: () => void) {
    super('a path changes a pre-existing object');
    this.take = take;
  }
}

const changesElsewhere = (): GraphBreak =>
  new GraphBreak(
    'unbacked-list',
    'the length of an array that was not made by a literal changes in branches and loops',
  );

/**
 * Traces paths. If they leave an array with different lengths, the array becomes a list before the paths, which
 * are then traced again. `expected`: arrays that are known to need this. An array with a union of lengths is a
 * list from its allocation on.
 */
export function withGrowable<T>(
  t: Tracer,
  tracePaths: (lists: Iterable<NewArrayVariable>) => T,
  expected: ReadonlyMap<NewArrayVariable, ListTreeSpec> = new Map(),
): T {
  // Original elements of the arrays that became lists here.
  const madeLists = new Map<NewArrayVariable, Variable[]>();
  const growHere = (array: NewArrayVariable, form: ListTreeSpec) => {
    const { elements } = array;
    grow(t, array, form);
    madeLists.set(array, elements);
  };
  for (const [array, form] of expected) growHere(array, form);
  for (;;) {
    try {
      return tracePaths(madeLists.keys());
    } catch (error) {
      if (error instanceof TakenBefore) {
        if (t.isInRegion) throw error;
        error.take();
        continue;
      }
      if (!(error instanceof Grows)) throw error;
      if (!t.control.listsGrow) {
        throw new GraphBreak(
          'branch-effect',
          'the length of an array changes in a loop of the program',
        );
      }
      const { array, form } = error;
      // The array needs a wider form than was known when it became a list.
      const before = madeLists.get(array);
      if (before) Object.assign(array, { growable: undefined, elements: before });
      if (array.growable) throw error;
      if (array.elements.some((element) => resolved(element).kind === 'union')) {
        growFromBirth(t, array, error);
      }
      // An enclosing decision would find that a path made the array a list, and trace all its paths again.
      if (!before && t.control.isMadeBefore(array)) throw error.withForm(wideForm(t, array, form));
      growHere(array, form);
    }
  }
}

/** Restarts the trace with a list from the array's allocation on, unless that is already planned. */
function growFromBirth(t: Tracer, { born, outer }: NewArrayVariable, error: Grows): never {
  const { depth, plans } = t.control;
  if (depth === 0 && outer && !plans.growsFrom(outer.source)) plans.growOutside(outer.source);
  if (depth === 0 && born && !born.grows) plans.restartWith('grows', born.code, born.pc);
  throw error;
}

/** Makes the array a list, whose length is a device scalar. `form`: its future elements. */
export function grow(t: Tracer, array: NewArrayVariable, form: ListTreeSpec): void {
  if (array.growable) return;
  t.control.plans.usesLists = true;
  const { elements } = array;
  setGrowable(t, array, growableOf(t, elements, wideForm(t, array, form)));
  for (const element of elements) markListed(t, element);
}

/** Returns the form of the array's elements, and of future elements if they have one in common. */
function wideForm(t: Tracer, array: NewArrayVariable, form: ListTreeSpec): ListTreeSpec {
  let own: ListTreeSpec | null = null;
  for (const element of array.elements) {
    const next = expectForm(t, element, bornAt(array));
    const joined: ListTreeSpec | null = own ? joinForms(t, own, next) : next;
    if (!joined) throw unlike(t, own!, element);
    own = joined;
  }
  // Elements that don't fit are rejected when they are added.
  return own ? (joinForms(t, own, form) ?? own) : form;
}

/** Returns the position of the array literal. */
export function bornAt({ born }: NewArrayVariable): UserPosition | undefined {
  const span = born?.code.spans[born.pc];
  return span && born.code.source.position(span.start);
}

/** Returns the list tree spec of the value. Throws a graph break if no list can store it. */
export function expectForm(t: Tracer, value: Variable, at?: UserPosition): ListTreeSpec {
  const form = formOf(t, value, at);
  if (form) return form;
  throw unlistable(value);
}

export function setGrowable(t: Tracer, array: NewArrayVariable, growable: GrowableList): void {
  const { growable: before, elements } = array;
  t.journal.note(() => Object.assign(array, { growable: before, elements }));
  Object.assign(array, { growable, elements: missingElements });
}
