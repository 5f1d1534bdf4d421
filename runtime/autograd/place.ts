import type { GradNode, Target } from '../tensor/grad-node.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** Where a gradient arrives: a leaf, or one output of a node. */
export type Place = NonNullable<Target>;

/** The key by which gradients are collected: the node, or the leaf itself. */
export type Key = GradNode | Tensor;

export function keyOf(place: Place): Key {
  return 'leaf' in place ? place.leaf : place.node;
}

export function indexOf(place: Place): number {
  return 'leaf' in place ? 0 : place.index;
}

/** For a tensor that requires a gradient. */
export function placeOf(tensor: Tensor): Place {
  return tensor.gradEdge ?? { leaf: tensor.leaf };
}

/** Returns the outputs among the places for each node or leaf. */
export function byKey(places: readonly Place[]): Map<Key, Set<number>> {
  const map = new Map<Key, Set<number>>();
  for (const place of places) {
    const indices = map.get(keyOf(place)) ?? new Set();
    map.set(keyOf(place), indices.add(indexOf(place)));
  }
  return map;
}
