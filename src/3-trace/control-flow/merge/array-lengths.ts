/** Arrays whose length differs between paths. All their elements share one union of lengths. */

import type { Location } from '../../state/location.ts';
import type { Tracer } from '../../state/tracer.ts';
import { resolved } from '../../variables/unions.ts';
import {
  absent,
  type NewArrayVariable,
  type UnionTag,
  type Variable,
} from '../../variables/variable.ts';
import { elementKey } from '../locations/object-locations.ts';
import type { LocationState, State } from '../locations/snapshot.ts';
import { isSame } from './is-same.ts';

/** The elements of an array at the end of a path. */
export interface ArrayContent {
  /** Selects one of `items`; null if there is only one. */
  readonly selector: UnionTag | null;
  readonly items: readonly (readonly Variable[])[];
}

interface ArrayOfLengths {
  readonly locations: readonly Location[];
  /** The content on each path. */
  readonly contents: readonly ArrayContent[];
}

/**
 * Returns arrays whose lengths differ between the paths or within a path, except arrays whose length depends on
 * more than one union.
 */
export function arraysOfLengths(
  t: Tracer,
  locations: readonly Location[],
  before: State,
  paths: readonly { readonly state: State }[],
): Map<NewArrayVariable, ArrayOfLengths> {
  const found = new Map<NewArrayVariable, ArrayOfLengths>();
  const arrays = new Set(
    locations.flatMap(({ part, array }) => (part === 'element' && array) || []),
  );
  for (const array of arrays) {
    const held = paths.map(({ state }) => elementsIn(state, array));
    const contents = held.map((each) => contentOf(t, each));
    if (!contents.every((content) => content !== null)) continue;
    const lengths = contents.flatMap(({ items }) => items.map(({ length }) => length));
    if (new Set(lengths).size === 1) continue;
    const longest = [elementsIn(before, array), ...held].reduce((a, b) =>
      b.length > a.length ? b : a,
    );
    found.set(array, { locations: longest.map(({ location }) => location), contents });
  }
  return found;
}

function elementsIn(state: State, array: NewArrayVariable): readonly LocationState[] {
  const elements: LocationState[] = [];
  for (;;) {
    const held = state.get(elementKey(array, elements.length));
    if (!held) return elements;
    elements.push(held);
  }
}

function contentOf(t: Tracer, elements: readonly LocationState[]): ArrayContent | null {
  const values = elements.map(({ value }) => resolved(value));
  const open = values.filter((each) => each.kind === 'union' && each.options.includes(absent));
  const selectors = new Set(open.map((each) => each.kind === 'union' && each.selector));
  const [selector] = selectors;
  if (!selector) return { selector: null, items: [there(values)] };
  if (selectors.size > 1) return null;
  const [first] = open;
  const count = first?.kind === 'union' ? first.options.length : 0;
  const items = Array.from({ length: count }, (_, option) =>
    there(
      values.map((each) =>
        each.kind === 'union' && each.selector === selector ? each.options[option]! : each,
      ),
    ),
  );
  const isClear = items.every((some) =>
    items.every((other) => some.length !== other.length || isSameList(t, some, other)),
  );
  return isClear ? { selector, items } : null;
}

const there = (values: readonly Variable[]) => values.filter((value) => value !== absent);

function isSameList(t: Tracer, a: readonly Variable[], b: readonly Variable[]): boolean {
  return a.every((value, i) => isSame(t, value, b[i]!));
}
