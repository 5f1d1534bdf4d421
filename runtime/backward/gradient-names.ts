import type { Place } from '../autograd/place.ts';
import type { GradNode } from '../tensor/grad-node.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** Resolves tensors that have several names in a program, so that contributions reach the right sum. */
export interface Names {
  /** Returns the places that a contribution to a place may belong to, including that place. */
  of(place: Place): readonly Place[];
  /** Delivers a contribution, or null, to each of these places; takes ownership. */
  deliver(place: Place, gradient: Tensor | null, inboxes: Inboxes): void;
  /** Takes the gradient received so far by a target of the node, under any name. */
  take(node: GradNode, place: Place, inboxes: Inboxes): Tensor | null;
}

/** The gradient sums so far. */
export interface Inboxes {
  put(place: Place, gradient: Tensor | null): void;
  take(place: Place): Tensor | null;
  /** Puts back a gradient that was taken. */
  set(place: Place, gradient: Tensor): void;
}
