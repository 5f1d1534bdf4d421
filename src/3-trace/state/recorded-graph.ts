/** Walks over the graph that the tensors of a trace have recorded. */

import type { ProgramBuilder } from '../../../runtime/program/builder.ts';
import type { GradNode } from '../../../runtime/tensor/grad-node.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';

/** Everything that a gradient of `root` comes through, in the order in which backward looks at it. */
export function* placesBelow(root: Tensor): Generator<GradNode | Tensor> {
  if (!root.requiresGrad) return;
  const edge = root.gradEdge;
  if (!edge) {
    yield root.leaf;
    return;
  }
  const seen = new Set<GradNode | Tensor>([edge.node]);
  yield edge.node;
  const pending = [edge.node];
  for (let node = pending.pop(); node; node = pending.pop()) {
    for (const target of node.targets) {
      if (!target) continue;
      const place = 'leaf' in target ? target.leaf : target.node;
      if (seen.has(place)) continue;
      seen.add(place);
      yield place;
      if ('node' in target) pending.push(target.node);
    }
  }
}

export function isLeaf(place: GradNode | Tensor): place is Tensor {
  return 'holderFor' in place;
}

/** The op at which a backward would find that an earlier one has used the graph up; null: none has. */
export function freedBelow(root: Tensor, builder: ProgramBuilder): string | null {
  for (const place of placesBelow(root)) {
    if (!isLeaf(place) && builder.freedNodes.isFreed(place)) return place.name;
  }
  return null;
}

/** A backward in a branch or loop may have freed the graph: that is data-dependent. */
export function mayBeFreedBelow(root: Tensor, builder: ProgramBuilder): boolean {
  for (const place of placesBelow(root)) {
    if (!isLeaf(place) && builder.freedNodes.mayBeFreed(place)) return true;
  }
  return false;
}

/** A gradient can flow from here: there is a graph, and no backward has used it up. */
export function isDifferentiable(tensor: Tensor, builder: ProgramBuilder): boolean {
  return tensor.gradEdge !== null && freedBelow(tensor, builder) === null;
}
