/** Merges arrays of different lengths into lists of the program. */

import { isListed } from '../../state/listed.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { ListTreeSpec, ListVariable } from '../../variables/growable-list.ts';
import { resolved } from '../../variables/unions.ts';
import {
  type DeviceScalar,
  known,
  type NewArrayVariable,
  type UnionVariable,
  type Variable,
} from '../../variables/variable.ts';
import { samplesOf } from '../lists/expect-list.ts';
import { isGrowable } from '../lists/growable-array.ts';
import { growableArray } from '../lists/list-elements.ts';
import { columnsOf, formOf, formText, joinAll } from '../lists/list-tree-spec.ts';
import type { Leaf, LeafVariable } from '../numbers/leaf.ts';
import type { Build, Values } from './build-structure.ts';

/** Returns the list tree spec for arrays that must become lists; null if they don't. */
export function listForm(
  t: Tracer,
  present: readonly Variable[],
  isOld: (variable: Variable) => boolean,
  grows: boolean,
): ListTreeSpec | null {
  const arrays = arraysIn(present, grows);
  if (!arrays || arrays.some(isOld)) return null;
  if (arrays.every(isGrowable)) return null;
  const growable = arrays.filter(isGrowable);
  const known_ = arrays.filter((path): path is NewArrayVariable => !isGrowable(path));
  const [first] = known_;
  if (growable.length === 0) {
    if (!grows || !t.control.listsGrow) return null;
    if (known_.every((path) => path.elements.length === first!.elements.length)) return null;
  }
  // Unions are resolved in another attempt, in which the array is a list.
  if (present[0]!.kind === 'newArray' && hasUnion(present[0]!)) return null;
  const elements = known_.flatMap((path) => path.elements.flatMap(samplesOf));
  const forms = elements.map((each) => formOf(t, each));
  const all = [...growable.map((path) => path.growable.form), ...forms];
  const form = all.every((each) => each !== null) ? joinAll(t, all) : null;
  if (!form || columnsOf(form).length === 0) return growable[0]?.growable.form ?? null;
  t.control.plans.usesLists = true;
  return form;
}

/**
 * Returns the arrays; null if there are other values. After an iteration, a value may be a union: the next attempt
 * finds a list.
 */
function arraysIn(
  present: readonly Variable[],
  grows: boolean,
): readonly NewArrayVariable[] | null {
  const all = present.flatMap((path, i) => {
    const options = path.kind === 'union' && grows && i > 0 ? path.options : [path];
    return options.map(resolved);
  });
  const arrays = all.filter((each): each is NewArrayVariable => {
    return each.kind === 'newArray' && !each.isArguments && !each.own;
  });
  return arrays.length === all.length ? arrays : null;
}

/** Adds one leaf per list of the form, and the length. */
export function addLists(t: Tracer, paths: Values, form: ListTreeSpec, leaves: Leaf[]): Build {
  const arrays = paths as readonly (NewArrayVariable | UnionVariable | null)[];
  const text = formText(t, form);
  const lists = columnsOf(form).map((_, index) => {
    const values = arrays.map((array): LeafVariable | null => {
      if (!array) return null;
      if (array.kind === 'union' || hasUnion(array))
        return { kind: 'newList', elements: null, form, index };
      const { growable } = array;
      if (growable && formText(t, growable.form) === text) return growable.lists[index]!;
      return { kind: 'newList', elements: growable ? null : array.elements, form, index };
    });
    return leaves.push({ kind: 'list', values }) - 1;
  });
  const lengths = arrays.map((array) => {
    if (array?.kind !== 'newArray') return null;
    return array.growable?.length ?? known(array.elements.length);
  });
  const length = leaves.push({ kind: 'number', values: lengths }) - 1;
  const listed = arrays.some((array) => array !== null && isListed(array));
  const build: Build = (joined, built) => {
    const existing = built.get(build);
    if (existing) return existing;
    const array = growableArray({
      form,
      lists: lists.map((index) => joined[index] as ListVariable),
      length: joined[length] as DeviceScalar,
    });
    built.set(build, array);
    return Object.assign(array, { listed });
  };
  return build;
}

function hasUnion(array: NewArrayVariable): boolean {
  return !array.growable && array.elements.some((each) => resolved(each).kind === 'union');
}
