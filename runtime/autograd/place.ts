import type { GradNode, Target } from '../tensor/grad-node.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** The destination of a gradient: a leaf, or one output of a node. */
export type Place = NonNullable<Target>;

/** The key that gradients are collected by: the node, or the leaf itself. */
export type Key = GradNode | Tensor;

export function keyOf(place: Place): Key {
  return 'leaf' in place ? place.leaf : place.node;
}

export function indexOf(place: Place): number {
  return 'leaf' in place ? 0 : place.index;
}

/** Returns the place of a tensor that requires a gradient. */
export function placeOf(tensor: Tensor): Place {
  return tensor.gradEdge ?? { leaf: tensor.leaf };
}

/** Groups the outputs among the places by node or leaf. */
export function byKey(places: readonly Place[]): Map<Key, Set<number>> {
  const map = new Map<Key, Set<number>>();
  for (const place of places) {
    const indices = map.get(keyOf(place)) ?? new Set();
    map.set(keyOf(place), indices.add(indexOf(place)));
  }
  return map;
}
