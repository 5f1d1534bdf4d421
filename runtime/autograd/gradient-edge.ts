import type { GradNode, Target } from '../tensor/grad-node.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** The destination of a gradient: a leaf, or one output of a node. */
export type GradientEdge = NonNullable<Target>;

/** The key that gradients are collected by: the node, or the leaf itself. */
export type Key = GradNode | Tensor;

export function keyOf(edge: GradientEdge): Key {
  return 'leaf' in edge ? edge.leaf : edge.node;
}

export function indexOf(edge: GradientEdge): number {
  return 'leaf' in edge ? 0 : edge.index;
}

/** Returns the edge of a tensor that requires a gradient. */
export function edgeOf(tensor: Tensor): GradientEdge {
  return tensor.gradEdge ?? { leaf: tensor.leaf };
}

/** Groups the outputs among the edges by node or leaf. */
export function byKey(edges: readonly GradientEdge[]): Map<Key, Set<number>> {
  const map = new Map<Key, Set<number>>();
  for (const edge of edges) {
    const indices = map.get(keyOf(edge)) ?? new Set();
    map.set(keyOf(edge), indices.add(indexOf(edge)));
  }
  return map;
}
