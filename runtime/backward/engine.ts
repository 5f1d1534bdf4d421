import { enableGrad, noGrad } from '../autograd/grad-mode.ts';
import { edgeOf, type GradientEdge, indexOf, type Key, keyOf } from '../autograd/gradient-edge.ts';
import { share } from '../autograd/share.ts';
import { withoutMoves } from '../ops/core/guarded-op.ts';
import { type SpanStart, spans } from '../profiler/spans.ts';
import {
  type GradEdge,
  type GradNode,
  hasHooks,
  type PassOutput,
  type TakeSum,
  type Target,
} from '../tensor/grad-node.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { Inboxes, Names } from './gradient-names.ts';
import { passOutput, throughHooks } from './hooks.ts';
import { RequestedEdges } from './requested-edges.ts';
import { sum } from './sum.ts';

/** Receives the complete gradient of an edge and owns the handle. */
type GradientSink = (edge: GradientEdge, gradient: Tensor) => void;

interface Root {
  readonly tensor: Tensor;
  /** The engine takes ownership. */
  readonly gradient: Tensor;
}

export interface RunOptions {
  /** Keeps the nodes' saved values for another backward. */
  readonly retainGraph: boolean;
  /** Records the backward ops, so that gradients can be differentiated. False by default. */
  readonly createGraph?: boolean;
  /** The edges that `sink` requests; all leaves by default. Nodes that lead to none of them don't run. */
  readonly inputs?: readonly GradientEdge[];
  readonly sink: GradientSink;
  readonly names?: Names | undefined;
  /** Called when a contribution is added to a leaf's earlier ones, by the engine or by a node. */
  readonly onLeafSum?: (leaf: Tensor, sum: Tensor) => void;
  /** Called before each node runs with the gradients of its results, which it may replace. */
  readonly onNode?: (node: GradNode, gradients: (Tensor | null)[]) => void;
  /** Whether an earlier backward has consumed the node; by default the node's own state. */
  readonly isConsumed?: (node: GradNode) => boolean;
}

/** The gradients received by one node or leaf, and the number still missing. */
interface Inbox {
  readonly gradients: (Tensor | null)[];
  missing: number;
}

/**
 * Reverse-mode differentiation over the recorded graph: latest node first, each node once, after all its gradients have
 * arrived. Contributions are summed in that order, which is also the order of a program's backward. Gradients are freed
 * when consumed, saved values once their node has run.
 */
export function runBackward(roots: readonly Root[], options: RunOptions): void {
  const mode = modeOf(options);
  mode(() => new BackwardPass(options).run(roots));
}

/** Like `runBackward`, but awaits gradients that move off an asynchronously read device. */
export async function runBackwardAsync(roots: readonly Root[], options: RunOptions): Promise<void> {
  await new BackwardPass(options).runAwaiting(roots, modeOf(options));
}

type Mode = <T>(body: () => T) => T;

function modeOf({ createGraph }: RunOptions): Mode {
  const recording = createGraph ? enableGrad : noGrad;
  return (body) => recording(() => withoutMoves(body));
}

/** The results of a node that ran during an await. */
interface AwaitedResults {
  readonly results: readonly (Tensor | null)[];
  readonly summed: Set<number>;
}

class BackwardPass implements Inboxes {
  readonly #options: RunOptions;
  readonly #inboxes = new Map<Key, Inbox>();
  /** Nodes whose gradients are complete, oldest first. */
  readonly #ready: GradNode[] = [];
  readonly #requested: RequestedEdges;
  /** For nodes of which only some outputs contribute: the targets that these outputs lead to. */
  readonly #leads = new Map<GradNode, readonly boolean[]>();

  constructor(options: RunOptions) {
    this.#options = options;
    this.#requested = new RequestedEdges(options.inputs);
  }

  run(roots: readonly Root[]): void {
    this.#begin(roots);
    try {
      this.#deliverRoots(roots);
      for (let node = this.#ready.pop(); node; node = this.#ready.pop()) this.#runNode(node);
    } finally {
      this.#end();
    }
  }

  /** Other code may run during an await, so modes are entered for each step separately. */
  async runAwaiting(roots: readonly Root[], mode: Mode): Promise<void> {
    mode(() => this.#begin(roots));
    try {
      mode(() => this.#deliverRoots(roots));
      for (let node = this.#ready.pop(); node; node = this.#ready.pop()) {
        const ready = node;
        const summed = new Set<number>();
        const results = await mode(() => this.#ahead(ready, summed));
        mode(() => this.#runNode(ready, results ? { results, summed } : null));
      }
    } finally {
      this.#end();
    }
  }

  #begin(roots: readonly Root[]): void {
    try {
      this.#countEdges(roots);
    } catch (error) {
      for (const { gradient } of roots) gradient.dispose();
      throw error;
    }
  }

  #deliverRoots(roots: readonly Root[]): void {
    for (const { tensor, gradient } of roots) this.#deliver(edgeOf(tensor), gradient);
  }

  /** Frees the gradients of an unfinished pass after an exception. */
  #end(): void {
    for (const inbox of this.#inboxes.values()) {
      for (const gradient of inbox.gradients) gradient?.dispose();
    }
  }

  /** Starts a node that needs to await. Nodes whose gradients are observed or replaced run synchronously instead. */
  #ahead(node: GradNode, summed: Set<number>): Promise<readonly (Tensor | null)[] | null> | null {
    const { gradients } = this.#inboxes.get(node)!;
    if (!node.awaits || !this.#requested.runs(node) || !gradients.some((gradient) => gradient))
      return null;
    if (node.hooks || node.retained || this.#requested.outputsOf(node)) return null;
    return node.awaits(
      gradients,
      this.#options.retainGraph,
      this.#sumsFor(node, summed),
      this.#requested.of(node),
    );
  }

  #sumsFor(node: GradNode, summed: Set<number>): TakeSum {
    return (target) => {
      const edge = this.#targetsOf(node)[target];
      if (!edge) return null;
      summed.add(target);
      return this.#takeSum(node, edge);
    };
  }

  #countEdges(roots: readonly Root[]): void {
    const edges = roots.map(({ tensor }) => edgeOf(tensor));
    this.#requested.findLeading(edges);
    const pending: GradNode[] = [];
    /** Nodes that must know their contributing outputs, and those found so far. */
    const waiting = new Map<GradNode, Set<number>>();
    const count = (given: GradientEdge) => {
      for (const edge of this.#options.names?.of(given) ?? [given]) countOne(edge);
    };
    const countOne = (edge: GradientEdge) => {
      if (!this.#requested.concerns(edge)) return;
      const key = keyOf(edge);
      if ('node' in edge) waiting.get(edge.node)?.add(edge.index);
      const inbox = this.#inboxes.get(key);
      if (inbox) {
        inbox.missing++;
        return;
      }
      this.#inboxes.set(key, { gradients: [], missing: 1 });
      if (!('node' in edge) || !this.#requested.runs(edge.node)) return;
      this.#refuseConsumed(edge);
      if (edge.node.leadsTo) waiting.set(edge.node, new Set([edge.index]));
      else pending.push(edge.node);
    };
    for (const edge of edges) count(edge);
    do {
      for (let node = pending.pop(); node; node = pending.pop()) {
        for (const target of node.targets) if (target) count(target);
      }
    } while (this.#countYoungest(waiting, count));
  }

  /** Only later nodes lead to a node, so all contributing outputs of the latest waiting node are known. */
  #countYoungest(
    waiting: Map<GradNode, ReadonlySet<number>>,
    count: (edge: GradientEdge) => void,
  ): boolean {
    if (waiting.size === 0) return false;
    const node = [...waiting.keys()].reduce((a, b) => (a.sequence > b.sequence ? a : b));
    const leads = node.leadsTo!(waiting.get(node)!, this.#requested.of(node));
    waiting.delete(node);
    if (leads) this.#leads.set(node, leads);
    for (const target of this.#targetsOf(node)) if (target) count(target);
    return true;
  }

  /** Returns the node's targets, null for omitted ones: they may have been freed and must not receive anything. */
  #targetsOf(node: GradNode): readonly Target[] {
    const leads = this.#leads.get(node);
    return leads ? node.targets.map((target, i) => (leads[i] ? target : null)) : node.targets;
  }

  #refuseConsumed({ node, index }: GradEdge): void {
    const { isConsumed } = this.#options;
    if (isConsumed ? isConsumed(node) : node.consumed) throw node.refusedTwice(index);
  }

  #runNode(node: GradNode, ahead: AwaitedResults | null = null): void {
    const inbox = this.#inboxes.get(node)!;
    this.#inboxes.delete(node);
    const { retainGraph, onNode } = this.#options;
    if (!inbox.gradients.some((gradient) => gradient)) {
      // No gradient reached the node, so it passes none on.
      const targets = this.#requested.runs(node) ? this.#targetsOf(node) : [];
      for (const target of targets) if (target) this.#deliver(target, null);
      return;
    }
    let results: readonly (Tensor | null)[];
    /** Indices of the targets to which the node itself has added its contributions. */
    const summed = ahead?.summed ?? new Set<number>();
    try {
      const passInner = this.#passOutputs(node, inbox);
      if (!this.#requested.runs(node)) return;
      onNode?.(node, inbox.gradients);
      const requested = node.targets.map(
        (target) => target !== null && this.#requested.concerns(target),
      );
      const takeSum = this.#sumsFor(node, summed);
      const only = this.#requested.of(node);
      const apply = () =>
        node.apply(inbox.gradients, retainGraph, requested, takeSum, passInner, only);
      if (ahead) results = ahead.results;
      else results = spans.active ? spans.around(spanOf(node), apply) : apply();
    } finally {
      for (const gradient of inbox.gradients) gradient?.dispose();
    }
    if (!retainGraph) node.finish();
    const targets = this.#targetsOf(node);
    const isOrdered = node.targetOrder && (hasHooks(targets) || this.#awaitMore(targets));
    const order = isOrdered ? node.targetOrder!(inbox.gradients) : null;
    let next = 0;
    try {
      while (next < targets.length) {
        const number = order ? order[next]! : next;
        const target = targets[number];
        const result = results[number] ?? null;
        if (target && 'leaf' in target && result && summed.has(number)) {
          this.#options.onLeafSum?.(target.leaf, result);
        }
        next++;
        if (target) this.#deliver(target, result);
      }
    } catch (error) {
      // If a hook throws, the remaining gradients have no owner.
      for (; next < targets.length; next++) results[order ? order[next]! : next]?.dispose();
      throw error;
    }
  }

  /**
   * Whether several gradients have yet to arrive at one of the edges: if the node passes on more than one of them, the
   * last bit of their sum depends on the order.
   */
  #awaitMore(targets: readonly Target[]): boolean {
    return targets.some((target) => target && (this.#inboxes.get(keyOf(target))?.missing ?? 0) > 1);
  }

  /** Passes gradients that are complete before the node runs; returns the callback for those completed inside. */
  #passOutputs(node: GradNode, { gradients }: Inbox): PassOutput | null {
    if (!node.hooks && !node.retained && !this.#requested.outputsOf(node)) return null;
    const requested = this.#requested.outputsOf(node);
    const { sink } = this.#options;
    const pass = (index: number, gradient: Tensor): Tensor => {
      const passed = passOutput(node, index, gradient);
      if (requested?.has(index)) sink({ node, index }, share(passed));
      return passed;
    };
    // A node that doesn't run contributes nothing.
    const innerOutputs = this.#requested.runs(node) ? node.innerOutputs : null;
    for (const index of node.hookOrder ?? gradients.keys()) {
      const gradient = gradients[index];
      if (gradient && !innerOutputs?.has(index)) gradients[index] = pass(index, gradient);
    }
    return innerOutputs && pass;
  }

  #deliver(edge: GradientEdge, gradient: Tensor | null): void {
    const { names } = this.#options;
    if (names) names.deliver(edge, gradient, this);
    else this.put(edge, gradient);
  }

  put(edge: GradientEdge, gradient: Tensor | null): void {
    const inbox = this.#inboxes.get(keyOf(edge));
    if (!inbox || !this.#requested.concerns(edge)) {
      gradient?.dispose();
      return;
    }
    const index = indexOf(edge);
    if (gradient) {
      const earlier = inbox.gradients[index];
      inbox.gradients[index] = earlier ? this.#add(edge, earlier, gradient) : gradient;
    }
    if (--inbox.missing > 0) return;
    if ('node' in edge) this.#enqueue(edge.node);
    else this.#finishLeaf(edge.leaf, inbox);
  }

  #add(edge: GradientEdge, earlier: Tensor, gradient: Tensor): Tensor {
    const total = sum(earlier, gradient);
    if ('leaf' in edge) this.#options.onLeafSum?.(edge.leaf, total);
    return total;
  }

  /** Takes the sum of the gradients received so far, for a node that adds its own contributions one by one. */
  #takeSum(node: GradNode, edge: GradientEdge): Tensor | null {
    const { names } = this.#options;
    return names ? names.take(node, edge, this) : this.take(edge);
  }

  set(edge: GradientEdge, gradient: Tensor): void {
    this.#inboxes.get(keyOf(edge))!.gradients[indexOf(edge)] = gradient;
  }

  take(edge: GradientEdge): Tensor | null {
    const gradients = this.#inboxes.get(keyOf(edge))?.gradients;
    const earlier = gradients?.[indexOf(edge)] ?? null;
    if (earlier) gradients![indexOf(edge)] = null;
    return earlier;
  }

  #finishLeaf(leaf: Tensor, inbox: Inbox): void {
    this.#inboxes.delete(leaf);
    const gradient = inbox.gradients[0];
    if (gradient) this.#options.sink({ leaf }, throughHooks(leaf.hooks, gradient));
  }

  #enqueue(node: GradNode): void {
    let i = this.#ready.length;
    while (i > 0 && this.#ready[i - 1]!.sequence > node.sequence) i--;
    this.#ready.splice(i, 0, node);
  }
}

function spanOf({ name }: GradNode): SpanStart {
  return { kind: 'backward', name: `${name} backward`, device: 'host' };
}
