import type { GradientContribution } from '../../runtime/program/program.ts';
import type { GradNode } from '../../runtime/tensor/grad-node.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';

/**
 * In: the outputs of a replayed program (null for an output whose gradient can't be requested), and the leaves that its
 * gradients flow to. Out: the contributions that may complete a leaf's gradient, in the order in which eager backward
 * delivers them; empty if that is the order of the leaves.
 *
 * Eager backward visits nodes from youngest to oldest. Which contribution to a leaf comes last depends on which outputs
 * receive a gradient, so every contribution that comes last for some outputs is kept.
 */
export function arrivalsAt(
  leaves: readonly Tensor[],
  outputs: readonly (Tensor | null)[],
): readonly GradientContribution[] {
  const found = arrivalsFromNodes(leaves, outputs);
  const isInOrder = found.every(({ target }, i) => i === 0 || found[i - 1]!.target < target);
  return isInOrder ? [] : found;
}

/**
 * Returns the arrivals like `arrivalsAt`, in any order: a leaf without one gets no gradient. The gradient of an output
 * that is a leaf itself, as a path that hands an operand through returns it, arrives there first.
 */
export function allArrivals(
  leaves: readonly Tensor[],
  outputs: readonly (Tensor | null)[],
): readonly GradientContribution[] {
  const numbers = numbersOf(leaves);
  const atOnce = outputs.flatMap((output, i) => {
    const target = output && !output.gradEdge ? numbers.get(output) : undefined;
    return target === undefined ? [] : [{ target, outputs: [i] }];
  });
  return [...atOnce, ...arrivalsFromNodes(leaves, outputs)];
}

function numbersOf(leaves: readonly Tensor[]): ReadonlyMap<Tensor, number> {
  const numbers = new Map<Tensor, number>();
  leaves.forEach((leaf, i) => {
    if (leaf.requiresGrad && !numbers.has(leaf)) numbers.set(leaf, i);
  });
  return numbers;
}

function arrivalsFromNodes(
  leaves: readonly Tensor[],
  outputs: readonly (Tensor | null)[],
): readonly GradientContribution[] {
  const numbers = numbersOf(leaves);
  const { nodes, from } = nodesBehind(outputs);
  const found: GradientContribution[] = [];
  /** For each leaf, the outputs that lead to later contributions. */
  const later = new Map<number, bigint>();
  for (const node of nodes) {
    const here = from.get(node)!;
    for (const edge of node.targets.toReversed()) {
      const target = edge && 'leaf' in edge ? numbers.get(edge.leaf) : undefined;
      if (target === undefined) continue;
      const known = later.get(target) ?? 0n;
      if ((here & ~known) === 0n) continue;
      later.set(target, known | here);
      const outputsHere = outputs.flatMap((_, i) => ((here >> BigInt(i)) & 1n ? [i] : []));
      found.push({ target, outputs: outputsHere });
    }
  }
  return found.reverse();
}

/** Returns the nodes from oldest to youngest, each with the outputs that depend on it as a bit set. */
function nodesBehind(outputs: readonly (Tensor | null)[]): {
  readonly nodes: readonly GradNode[];
  readonly from: ReadonlyMap<GradNode, bigint>;
} {
  const from = new Map<GradNode, bigint>();
  outputs.forEach((output, i) => {
    const node = output?.gradEdge?.node;
    if (node) from.set(node, (from.get(node) ?? 0n) | (1n << BigInt(i)));
  });
  const reached = new Set(from.keys());
  // Also visits elements added meanwhile.
  for (const node of reached) {
    for (const target of node.targets) if (target && 'node' in target) reached.add(target.node);
  }
  const nodes = [...reached].sort((a, b) => a.sequence - b.sequence);
  // A node is younger than its targets, so in this order all outputs that lead to a node are known when it is visited.
  for (const node of nodes.toReversed()) {
    const bits = from.get(node)!;
    for (const target of node.targets) {
      if (target && 'node' in target) from.set(target.node, (from.get(target.node) ?? 0n) | bits);
    }
  }
  return { nodes, from };
}
