/** Autograd leaves and nodes that a branch or loop creates, and that must stay inside it. */

import { formatPosition } from '../../../../runtime/errors/position.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import { breakAtSite, isDifferentiable, isLeaf, nodesBelow } from '../../state/recorded-graph.ts';
import type { RegionBuilder } from '../../state/region-builder.ts';
import type { Tracer } from '../../state/tracer.ts';

/**
 * Returns the break for a tensor created in a branch or loop that would leave it with its graph or its `.grad`.
 */
export function leafLeaves(t: Tracer, leaf: Tensor): GraphBreak {
  const at = t.autograd.leavesInside.get(leaf);
  const what = at ? `after requiresGrad_() (${formatPosition(at)})` : 'with a .grad';
  return new GraphBreak(
    'branch-effect',
    `a tensor that was made here leaves a branch or loop ${what} (hand on what has neither graph nor .grad: w.detach(), w.grad, loss.itemSync())`,
  );
}

/**
 * Throws a graph break if a leaf created in a region, or the result of a custom function whose gradient may be
 * requested, would leave it: outside, the leaf would not be a leaf, and its `.grad` would be lost.
 */
export function expectNoLeavesInside(
  t: Tracer,
  region: RegionBuilder,
  results: Iterable<Tensor>,
): void {
  const { leavesInside, functionsInside } = t.autograd;
  for (const result of results) {
    for (const node of nodesBelow(result)) {
      // A region's gradient is derived from its ops, but a custom function's gradient is not.
      const isFunction = !isLeaf(node) && functionsInside.get(node) === region.builder;
      if (isFunction && isDifferentiable(result, region.builder)) breakAtSite(t, node);
      if (!isLeaf(node) || !leavesInside.has(node)) continue;
      if (node.traced?.builder !== region.builder) continue;
      throw leafLeaves(t, node);
    }
  }
}
