import { sameSpec } from '../../../../runtime/device/tensor-meta.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import type { Location } from '../../state/location.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { Variable } from '../../variables/variable.ts';
import { isSame } from '../merge/is-same.ts';
import { columnOf, knownSizes, outerOf } from '../merge/leaves.ts';
import type { Merged } from '../merge/phi-merger.ts';
import type { Leaf } from '../numbers/leaf.ts';
import { isWholeTensor } from '../numbers/whole-numbers.ts';

/** A value that is returned from inside the loop is carried as a separate location. */
export const returnKey = 'return';

/** A loop-carried location. Its values before and after an iteration are merged into one structure. */
export interface Carried {
  readonly location: Location;
  readonly merged: Merged;
}

/** A loop-carried tensor, and the leaf that it represents. */
export interface CarriedLeaf {
  readonly leaf: Leaf;
  /** Equal in every attempt. */
  readonly key: string;
}

/** Yields the leaves of all locations, in order. */
export function* leavesOf(
  carried: ReadonlyMap<string, Carried>,
  structureAt = ({ merged }: Carried): Merged => merged,
): Generator<CarriedLeaf> {
  for (const [key, each] of carried) {
    for (const [i, leaf] of structureAt(each).leaves.entries())
      yield { leaf, key: leafKey(key, i) };
  }
}

export function leafKey(location: string, index: number): string {
  return `${location} ${index}`;
}

/** Returns whether a carried number is an integer at the start of each iteration. */
export function isWholeAtStart(
  start: Tensor,
  { leaf, key }: CarriedLeaf,
  fractional: ReadonlySet<string>,
): boolean {
  return leaf.kind === 'number' && isWholeTensor(start) && !fractional.has(key);
}

/** Sets each location to the value that its leaves form: keys first, then their order. Returns the returned value. */
export function setCarried(
  t: Tracer,
  carried: ReadonlyMap<string, Carried>,
  variableOf: (leaf: Leaf) => Variable,
): Variable | null {
  const built = [...carried.values()].map(({ location, merged }) => {
    return { location, value: merged.build(merged.leaves.map(variableOf)) };
  });
  for (const isOrder of [false, true]) {
    for (const { location, value } of built) {
      if (location.key !== returnKey && !!location.agreed === isOrder) location.set(t, value);
    }
  }
  return built.find(({ location }) => location.key === returnKey)?.value ?? null;
}

function isAlike(a: Leaf, b: Leaf): boolean {
  if (a.kind === 'dynamic' && b.kind === 'dynamic') {
    return knownSizes(a).join() === knownSizes(b).join();
  }
  if (a.kind !== 'list' || b.kind !== 'list') return a.kind === b.kind;
  return sameSpec(columnOf(a).spec, columnOf(b).spec);
}

/** Returns whether the orders are the same in every iteration, so that they need no operand. */
export function isSameOrder(t: Tracer, a: Merged | undefined, b: Merged): boolean {
  if (!a || a.leaves.length + b.leaves.length > 0) return true;
  return isSame(t, a.build([]), b.build([]));
}

/** Returns whether the pre-existing tensors that each leaf may alias are already known. */
export function mayBeSame(a: Merged, b: Merged): boolean {
  return a.leaves.every((leaf, i) => outerOf(leaf).length === outerOf(b.leaves[i]!).length);
}

/**
 * Returns whether the operands have the same kinds, dtypes, shapes and numbers of options, so that the last
 * iteration's options are included.
 */
export function sameLeaves(a: Merged, b: Merged): boolean {
  if (a.leaves.length !== b.leaves.length || a.options !== b.options) return false;
  return a.leaves.every((leaf, i) => isAlike(leaf, b.leaves[i]!));
}
