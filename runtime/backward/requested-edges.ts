import { byKey, type GradientEdge, indexOf, type Key, keyOf } from '../autograd/gradient-edge.ts';
import type { GradNode, RequestedGradients } from '../tensor/grad-node.ts';

const none: ReadonlySet<number> = new Set();

/** The edges whose gradients a backward pass computes, and the nodes that must run for them. */
export class RequestedEdges {
  /** The requested outputs per node; null if all leaves are requested. */
  readonly #requested: ReadonlyMap<Key, ReadonlySet<number>> | null;
  /** The nodes that lead to a requested edge, and through which outputs; null for all outputs. */
  readonly #leading = new Map<GradNode, ReadonlySet<number> | null>();

  constructor(edges: readonly GradientEdge[] | undefined) {
    this.#requested = edges ? byKey(edges) : null;
  }

  /** Returns the node's outputs whose gradients are requested; undefined if there are none. */
  outputsOf(node: GradNode): ReadonlySet<number> | undefined {
    return this.#requested?.get(node);
  }

  /** Whether the node runs, rather than only receiving a gradient. */
  runs(node: GradNode): boolean {
    return !this.#requested || this.#leading.has(node);
  }

  /**
   * Finds the nodes below these roots that lead to a requested edge. Visits old nodes first: targets precede their
   * nodes.
   */
  findLeading(roots: readonly GradientEdge[]): void {
    if (!this.#requested) return;
    const reached = new Set<GradNode>();
    for (const edge of roots) if ('node' in edge) reached.add(edge.node);
    // The loop also visits nodes added while it runs.
    for (const node of reached) {
      for (const target of node.targets) if (target && 'node' in target) reached.add(target.node);
    }
    for (const node of [...reached].sort((a, b) => a.sequence - b.sequence)) {
      const leads = node.targets.some((target) => target && this.concerns(target));
      if (!leads && !this.#needsToRun(node, roots, reached)) continue;
      this.#leading.set(node, node.leadingOutputs?.(this.of(node)!) ?? null);
    }
  }

  /** Returns null if all leaves are requested. */
  of(node: GradNode): RequestedGradients | null {
    if (!this.#requested) return null;
    const targets = node.targets.map((target) => target !== null && this.concerns(target));
    return { targets, outputs: this.#requested.get(node) ?? none };
  }

  /** Whether a gradient of this node, or of a node that it leads to, is requested. */
  concerns(edge: GradientEdge): boolean {
    if (!this.#requested) return true;
    if ('node' in edge) {
      const leading = this.#leading.get(edge.node);
      if (leading === null || leading?.has(edge.index)) return true;
    }
    return this.#isRequested(edge);
  }

  #isRequested(edge: GradientEdge): boolean {
    if (!this.#requested) return 'leaf' in edge;
    return this.#requested.get(keyOf(edge))?.has(indexOf(edge)) ?? false;
  }

  /**
   * Whether a requested inner output's gradient requires running the node, because another reached output leads to it.
   */
  #needsToRun(
    node: GradNode,
    roots: readonly GradientEdge[],
    reached: ReadonlySet<GradNode>,
  ): boolean {
    const { innerOutputs } = node;
    const requested = this.#requested?.get(node);
    if (!innerOutputs || !requested) return false;
    const edges = [...roots, ...[...reached].flatMap((each) => each.targets)];
    const reachedOutputs = edges.flatMap((edge) =>
      edge && 'node' in edge && edge.node === node ? [edge.index] : [],
    );
    const targets = node.targets.map(() => false);
    return [...requested].some((index) => {
      if (!innerOutputs.has(index)) return false;
      const leading = node.leadingOutputs?.({ targets, outputs: new Set([index]) });
      return !leading || reachedOutputs.some((other) => other !== index && leading.has(other));
    });
  }
}
