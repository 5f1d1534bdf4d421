import type { GradientEdge } from '../autograd/gradient-edge.ts';
import type { GradNode } from '../tensor/grad-node.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** Resolves tensors that have several names in a program, so that contributions reach the right sum. */
export interface Names {
  /** Returns the edges that a contribution to an edge may belong to, including that edge. */
  of(edge: GradientEdge): readonly GradientEdge[];
  /** Delivers a contribution, or null, to each of these edges; takes ownership. */
  deliver(edge: GradientEdge, gradient: Tensor | null, inboxes: Inboxes): void;
  /** Takes the gradient received so far by a target of the node, under any name. */
  take(node: GradNode, edge: GradientEdge, inboxes: Inboxes): Tensor | null;
}

/** The gradient sums so far. */
export interface Inboxes {
  put(edge: GradientEdge, gradient: Tensor | null): void;
  take(edge: GradientEdge): Tensor | null;
  /** Puts back a gradient that was taken. */
  set(edge: GradientEdge, gradient: Tensor): void;
}
