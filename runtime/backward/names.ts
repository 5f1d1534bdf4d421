import type { Place } from '../autograd/place.ts';
import type { GradNode } from '../tensor/grad-node.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** Tensors that a program knows by several names: contributions go where they belong. */
export interface Names {
  /** Where a contribution to a place may belong, itself included. */
  of(place: Place): readonly Place[];
  /** Puts a contribution, or null, to each of these. Takes over. */
  deliver(place: Place, gradient: Tensor | null, inboxes: Inboxes): void;
  /** Takes what has come to a target of the node, by whichever name. */
  take(node: GradNode, place: Place, inboxes: Inboxes): Tensor | null;
}

/** The sums so far. */
export interface Inboxes {
  put(place: Place, gradient: Tensor | null): void;
  take(place: Place): Tensor | null;
  /** Puts back what was taken. */
  set(place: Place, gradient: Tensor): void;
}
