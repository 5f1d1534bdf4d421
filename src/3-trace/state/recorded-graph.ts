/** Walks over the autograd graph recorded by a trace's tensors. */

import type { ProgramBuilder } from '../../../runtime/program/builder.ts';
import type { GradNode } from '../../../runtime/tensor/grad-node.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { Tracer } from './tracer.ts';

/** Yields all nodes and leaves that a gradient of `root` reaches, in the order of backward. */
export function* nodesBelow(root: Tensor): Generator<GradNode | Tensor> {
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
      const reached = 'leaf' in target ? target.leaf : target.node;
      if (seen.has(reached)) continue;
      seen.add(reached);
      yield reached;
      if ('node' in target) pending.push(target.node);
    }
  }
}

export function isLeaf(node: GradNode | Tensor): node is Tensor {
  return 'holderFor' in node;
}

/** Returns the op at which backward would find a freed node; null if the graph is intact. */
export function freedBelow(root: Tensor, builder: ProgramBuilder): string | null {
  return freedNode(root, builder)?.name ?? null;
}

/** Returns the node at which backward would find the graph freed; null if the graph is intact. */
export function freedNode(root: Tensor, builder: ProgramBuilder): GradNode | null {
  for (const node of nodesBelow(root)) {
    if (!isLeaf(node) && builder.freedNodes.isFreed(node)) return node;
  }
  return null;
}

/** Returns whether a backward in a branch or loop may have freed the graph, which is data-dependent. */
export function mayBeFreedBelow(root: Tensor, builder: ProgramBuilder): boolean {
  for (const node of nodesBelow(root)) {
    if (!isLeaf(node) && builder.freedNodes.mayBeFreed(node)) return true;
  }
  return false;
}

/** Returns whether a gradient can flow from here: a graph exists, and no backward has freed it. */
export function isDifferentiable(tensor: Tensor, builder: ProgramBuilder): boolean {
  return tensor.gradEdge !== null && freedBelow(tensor, builder) === null;
}

/** Ends the graph at the call that created a node known only to this trace. */
export function breakAtSite({ autograd, control }: Tracer, node: GradNode | Tensor): void {
  const site = autograd.watched.get(node);
  if (site) control.plans.restartWith('break', site.code, site.pc);
}
