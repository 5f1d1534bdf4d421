/** Whether tensors require gradients when paths differ in that. */

import { getOrInsert } from '../../../runtime/collections/get-or-insert.ts';
import type { GradNode } from '../../../runtime/tensor/grad-node.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { regionWith } from './region-builder.ts';

/** Paths differ, and no boolean records which path was taken. */
export const unknown = 'unknown';

/**
 * True, or a set that is true if any element is: a boolean of a program, or a carried value of the current loop that
 * has no boolean yet. The empty set is false.
 */
export type Requires = true | ReadonlySet<Tensor | typeof unknown>;

export const never: Requires = new Set();

/** Tracks whether results of branches and loops, and loop-carried values, require gradients. */
export class RequiredGradients {
  readonly #results = new WeakMap<GradNode, Map<number, Requires>>();
  /** Results for visited nodes. */
  readonly #nodes = new WeakMap<GradNode, Requires>();
  readonly #carried = new WeakMap<Tensor, Requires>();

  /** Records a loop-carried value inside its loop. `flag`: the boolean that is carried with it. */
  noteCarried(input: Tensor, flag: Tensor | null): void {
    this.#carried.set(input, new Set([flag ?? input]));
  }

  noteResult(result: Tensor, requires: Requires): void {
    const edge = result.gradEdge;
    if (!edge) return;
    getOrInsert(this.#results, edge.node, () => new Map<number, Requires>()).set(
      edge.index,
      requires,
    );
  }

  of(tensor: Tensor): Requires {
    if (!tensor.requiresGrad) return never;
    const edge = tensor.gradEdge;
    if (!edge) return this.#ofLeaf(tensor.leaf);
    return this.#results.get(edge.node)?.get(edge.index) ?? this.#ofNode(edge.node);
  }

  #ofLeaf(leaf: Tensor): Requires {
    const carried = this.#carried.get(leaf);
    if (carried) return carried;
    const outer = regionWith(leaf)?.capturedAs(leaf);
    return outer ? this.of(outer) : true;
  }

  #ofNode(root: GradNode): Requires {
    return getOrInsert(this.#nodes, root, () => this.#search(root));
  }

  #search(root: GradNode): Requires {
    const all = new Set<Tensor | typeof unknown>();
    const seen = new Set([root]);
    for (const node of seen) {
      for (const target of node.targets) {
        if (!target) continue;
        const below =
          'leaf' in target
            ? this.#ofLeaf(target.leaf)
            : (this.#results.get(target.node)?.get(target.index) ?? this.#nodes.get(target.node));
        if (below === true) return true;
        if (below) for (const each of below) all.add(each);
        else if ('node' in target) seen.add(target.node);
      }
    }
    return all;
  }
}
