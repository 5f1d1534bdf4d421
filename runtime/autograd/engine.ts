import { AutogradError } from '../errors/errors.ts';
import { add } from '../ops/pointwise.ts';
import { keep } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { noGrad } from './grad-mode.ts';
import type { GradNode, Target } from './node.ts';

/** Gets the complete gradient of a leaf; takes over the handle. */
export type LeafSink = (leaf: Tensor, gradient: Tensor) => void;

interface Root {
  readonly tensor: Tensor;
  /** Owned by the engine from now on. */
  readonly gradient: Tensor;
}

interface RunOptions {
  /** Keeps what the nodes saved, for another backward. */
  readonly retainGraph: boolean;
  readonly sink: LeafSink;
  /** Called before each node is undone. */
  readonly onNode?: (node: GradNode) => void;
}

/** Gradients that have arrived for one node or leaf, and how many more are to come. */
interface Inbox {
  readonly gradients: (Tensor | null)[];
  missing: number;
}

type Key = GradNode | Tensor;

function keyOf(target: NonNullable<Target>): Key {
  return 'leaf' in target ? target.leaf : target.node;
}

/**
 * Reverse-mode differentiation over the recorded graph: youngest node first, each node once, when all
 * its gradients have arrived; contributions are summed in that order, which is also the order of a
 * program's backward. Gradients die when consumed, saved values when their node has run.
 */
export function runBackward(roots: readonly Root[], options: RunOptions): void {
  noGrad(() => new BackwardPass(options).run(roots));
}

class BackwardPass {
  readonly #options: RunOptions;
  readonly #inboxes = new Map<Key, Inbox>();
  /** Nodes whose gradients are complete, oldest first. */
  readonly #ready: GradNode[] = [];

  constructor(options: RunOptions) {
    this.#options = options;
  }

  run(roots: readonly Root[]): void {
    try {
      this.#countEdges(roots);
    } catch (error) {
      for (const { gradient } of roots) gradient.dispose();
      throw error;
    }
    try {
      for (const { tensor, gradient } of roots) {
        this.#deliver(tensor.gradEdge ?? { leaf: tensor }, gradient);
      }
      for (let node = this.#ready.pop(); node; node = this.#ready.pop()) this.#runNode(node);
    } finally {
      // After an exception: gradients under way are given back.
      for (const inbox of this.#inboxes.values()) {
        for (const gradient of inbox.gradients) gradient?.dispose();
      }
    }
  }

  #countEdges(roots: readonly Root[]): void {
    const pending: GradNode[] = [];
    const count = (target: NonNullable<Target>) => {
      const key = keyOf(target);
      const inbox = this.#inboxes.get(key);
      if (inbox) {
        inbox.missing++;
        return;
      }
      this.#inboxes.set(key, { gradients: [], missing: 1 });
      if ('node' in target) {
        refuseConsumed(target.node);
        pending.push(target.node);
      }
    };
    for (const { tensor } of roots) count(tensor.gradEdge ?? { leaf: tensor });
    for (let node = pending.pop(); node; node = pending.pop()) {
      for (const target of node.targets) if (target) count(target);
    }
  }

  #runNode(node: GradNode): void {
    const inbox = this.#inboxes.get(node)!;
    this.#inboxes.delete(node);
    const { retainGraph, onNode } = this.#options;
    onNode?.(node);
    let results: (Tensor | null)[];
    try {
      results = node.apply(inbox.gradients, retainGraph);
    } finally {
      for (const gradient of inbox.gradients) gradient?.dispose();
    }
    if (!retainGraph) node.consume();
    node.targets.forEach((target, i) => {
      if (target) this.#deliver(target, results[i] ?? null);
    });
  }

  #deliver(target: NonNullable<Target>, gradient: Tensor | null): void {
    const inbox = this.#inboxes.get(keyOf(target))!;
    const index = 'leaf' in target ? 0 : target.index;
    if (gradient) {
      const earlier = inbox.gradients[index];
      inbox.gradients[index] = earlier ? sum(earlier, gradient) : gradient;
    }
    if (--inbox.missing > 0) return;
    if ('node' in target) this.#enqueue(target.node);
    else this.#finishLeaf(target.leaf, inbox);
  }

  #finishLeaf(leaf: Tensor, inbox: Inbox): void {
    this.#inboxes.delete(leaf);
    const gradient = inbox.gradients[0];
    if (gradient) this.#options.sink(leaf, gradient);
  }

  #enqueue(node: GradNode): void {
    let i = this.#ready.length;
    while (i > 0 && this.#ready[i - 1]!.sequence > node.sequence) i--;
    this.#ready.splice(i, 0, node);
  }
}

function sum(a: Tensor, b: Tensor): Tensor {
  const total = add(a, b);
  a.dispose();
  b.dispose();
  return keep(total);
}

function refuseConsumed(node: GradNode): void {
  if (!node.consumed) return;
  throw new AutogradError({
    what: `backward through ${node.name} a second time`,
    given: 'a graph whose saved values were given back by an earlier backward',
    expected: 'a graph that was not yet differentiated',
    remedy: 'pass { retainGraph: true } to the first backward, or run the forward pass again',
  });
}
