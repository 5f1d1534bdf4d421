import { enableGrad, noGrad } from '../autograd/grad-mode.ts';
import { byKey, indexOf, type Key, keyOf, type Place, placeOf } from '../autograd/place.ts';
import { share } from '../autograd/share.ts';
import { withoutMoves } from '../ops/core/guarded-op.ts';
import { type SpanStart, spans } from '../profiler/spans.ts';
import type {
  GradEdge,
  GradNode,
  PassOutput,
  TakeSum,
  Target,
  Wanted,
} from '../tensor/grad-node.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { passOutput, throughHooks } from './hooks.ts';
import type { Inboxes, Names } from './names.ts';
import { sum } from './sum.ts';

/** Gets the complete gradient of a place; takes over the handle. */
export type GradientSink = (place: Place, gradient: Tensor) => void;

interface Root {
  readonly tensor: Tensor;
  /** Owned by the engine from now on. */
  readonly gradient: Tensor;
}

export interface RunOptions {
  /** Keeps what the nodes saved, for another backward. */
  readonly retainGraph: boolean;
  /** Records the backward ops, so that gradients can be differentiated. False by default. */
  readonly createGraph?: boolean;
  /** The places that `sink` waits for; all leaves by default. Nodes that lead to none don't run. */
  readonly wanted?: readonly Place[];
  readonly sink: GradientSink;
  readonly names?: Names | undefined;
  /** Called when a part of a leaf's gradient was added to those before, by a node itself too. */
  readonly onLeafSum?: (leaf: Tensor, sum: Tensor) => void;
  /** Called before each node runs, with the gradients of its results, which it may replace. */
  readonly onNode?: (node: GradNode, gradients: (Tensor | null)[]) => void;
  /** Whether an earlier backward has used the node up; what the node says of itself by default. */
  readonly isConsumed?: (node: GradNode) => boolean;
}

/** Gradients that have arrived for one node or leaf, and how many more are to come. */
interface Inbox {
  readonly gradients: (Tensor | null)[];
  missing: number;
}

/**
 * Reverse-mode differentiation over the recorded graph: youngest node first, each node once, when all
 * its gradients have arrived; contributions are summed in that order, which is also the order of a
 * program's backward. Gradients die when consumed, saved values when their node has run.
 */
export function runBackward(roots: readonly Root[], options: RunOptions): void {
  const mode = modeOf(options);
  mode(() => new BackwardPass(options).run(roots));
}

/** Runs `runBackward`, waiting where a gradient leaves a device that can only be read asynchronously. */
export async function runBackwardAsync(roots: readonly Root[], options: RunOptions): Promise<void> {
  await new BackwardPass(options).runAwaiting(roots, modeOf(options));
}

const none: ReadonlySet<number> = new Set();

type Mode = <T>(body: () => T) => T;

function modeOf({ createGraph }: RunOptions): Mode {
  const recording = createGraph ? enableGrad : noGrad;
  return (body) => recording(() => withoutMoves(body));
}

/** The results of a node that ran while the pass waited. */
interface Ahead {
  readonly results: readonly (Tensor | null)[];
  readonly summed: Set<number>;
}

class BackwardPass implements Inboxes {
  readonly #options: RunOptions;
  readonly #inboxes = new Map<Key, Inbox>();
  /** Nodes whose gradients are complete, oldest first. */
  readonly #ready: GradNode[] = [];
  /** The wanted outputs of each node that has some; null when leaves are wanted. */
  readonly #wanted: ReadonlyMap<Key, ReadonlySet<number>> | null;
  /** The targets that the other outputs lead to, for nodes of which only some outputs contribute a gradient. */
  readonly #leads = new Map<GradNode, readonly boolean[]>();
  /** With `wanted`: the nodes that lead to one of them, and with which outputs; null: with all. */
  readonly #leading = new Map<GradNode, ReadonlySet<number> | null>();

  constructor(options: RunOptions) {
    this.#options = options;
    this.#wanted = options.wanted ? byKey(options.wanted) : null;
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

  /** Other code may run while it waits: modes are entered for each step alone. */
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
    for (const { tensor, gradient } of roots) this.#deliver(placeOf(tensor), gradient);
  }

  /** After an exception: frees the gradients of the unfinished pass. */
  #end(): void {
    for (const inbox of this.#inboxes.values()) {
      for (const gradient of inbox.gradients) gradient?.dispose();
    }
  }

  /** Nodes whose gradients others look at or replace are run immediately. */
  #ahead(node: GradNode, summed: Set<number>): Promise<readonly (Tensor | null)[] | null> | null {
    const { gradients } = this.#inboxes.get(node)!;
    if (!node.awaits || !this.#runs(node) || !gradients.some((gradient) => gradient)) return null;
    if (node.hooks || node.retained || this.#wanted?.has(node)) return null;
    return node.awaits(
      gradients,
      this.#options.retainGraph,
      this.#sumsFor(node, summed),
      this.#wantedOf(node),
    );
  }

  #sumsFor(node: GradNode, summed: Set<number>): TakeSum {
    return (target) => {
      summed.add(target);
      return this.#takeSum(node, node.targets[target]!);
    };
  }

  #countEdges(roots: readonly Root[]): void {
    const places = roots.map(({ tensor }) => placeOf(tensor));
    if (this.#wanted) this.#findLeading(places);
    const pending: GradNode[] = [];
    /** Nodes that need to know which outputs contribute a gradient, and those that do so far. */
    const waiting = new Map<GradNode, Set<number>>();
    const count = (given: Place) => {
      for (const place of this.#options.names?.of(given) ?? [given]) countOne(place);
    };
    const countOne = (place: Place) => {
      if (!this.#concerns(place)) return;
      const key = keyOf(place);
      if ('node' in place) waiting.get(place.node)?.add(place.index);
      const inbox = this.#inboxes.get(key);
      if (inbox) {
        inbox.missing++;
        return;
      }
      this.#inboxes.set(key, { gradients: [], missing: 1 });
      if (!('node' in place) || !this.#runs(place.node)) return;
      this.#refuseConsumed(place);
      if (place.node.leadsTo) waiting.set(place.node, new Set([place.index]));
      else pending.push(place.node);
    };
    for (const place of places) count(place);
    do {
      for (let node = pending.pop(); node; node = pending.pop()) {
        for (const target of node.targets) if (target) count(target);
      }
    } while (this.#countYoungest(waiting, count));
  }

  /** Only younger nodes lead to a node: so for the youngest one that waits, all outputs that contribute a gradient are known. */
  #countYoungest(
    waiting: Map<GradNode, ReadonlySet<number>>,
    count: (place: Place) => void,
  ): boolean {
    if (waiting.size === 0) return false;
    const node = [...waiting.keys()].reduce((a, b) => (a.sequence > b.sequence ? a : b));
    const leads = node.leadsTo!(waiting.get(node)!, this.#wantedOf(node));
    waiting.delete(node);
    if (leads) this.#leads.set(node, leads);
    for (const target of this.#targetsOf(node)) if (target) count(target);
    return true;
  }

  /** Those that are omitted take no part: neither may they have been freed, nor do they hear of anything. */
  #targetsOf(node: GradNode): readonly Target[] {
    const leads = this.#leads.get(node);
    return leads ? node.targets.map((target, i) => (leads[i] ? target : null)) : node.targets;
  }

  /** Targets are older than their nodes: from old to young, each node knows what its targets lead to. */
  #findLeading(places: readonly Place[]): void {
    const reached = new Set<GradNode>();
    for (const place of places) if ('node' in place) reached.add(place.node);
    // A set iterates over what is added meanwhile.
    for (const node of reached) {
      for (const target of node.targets) if (target && 'node' in target) reached.add(target.node);
    }
    for (const node of [...reached].sort((a, b) => a.sequence - b.sequence)) {
      const leads = node.targets.some((target) => target && this.#concerns(target));
      if (!leads && !this.#wantsInner(node, places, reached)) continue;
      this.#leading.set(node, node.leadingOutputs?.(this.#wantedOf(node)!) ?? null);
    }
  }

  /** Null when leaves are wanted. */
  #wantedOf(node: GradNode): Wanted | null {
    if (!this.#wanted) return null;
    const targets = node.targets.map((target) => target !== null && this.#concerns(target));
    return { targets, outputs: this.#wanted.get(node) ?? none };
  }

  /** A gradient of this node, or of one that it leads to, is requested. */
  #concerns(place: Place): boolean {
    if (!this.#wanted) return true;
    if ('node' in place) {
      const leading = this.#leading.get(place.node);
      if (leading === null || leading?.has(place.index)) return true;
    }
    return this.#isWanted(place);
  }

  #isWanted(place: Place): boolean {
    if (!this.#wanted) return 'leaf' in place;
    return this.#wanted.get(keyOf(place))?.has(indexOf(place)) ?? false;
  }

  /** Such a gradient is found by running the node, where another of its outputs that is reached leads there. */
  #wantsInner(node: GradNode, places: readonly Place[], reached: ReadonlySet<GradNode>): boolean {
    const { innerOutputs } = node;
    const wanted = this.#wanted?.get(node);
    if (!innerOutputs || !wanted) return false;
    const edges = [...places, ...[...reached].flatMap((each) => each.targets)];
    const reachedOutputs = edges.flatMap((edge) =>
      edge && 'node' in edge && edge.node === node ? [edge.index] : [],
    );
    const targets = node.targets.map(() => false);
    return [...wanted].some((index) => {
      if (!innerOutputs.has(index)) return false;
      const leading = node.leadingOutputs?.({ targets, outputs: new Set([index]) });
      return !leading || reachedOutputs.some((other) => other !== index && leading.has(other));
    });
  }

  #refuseConsumed({ node, index }: GradEdge): void {
    const { isConsumed } = this.#options;
    if (isConsumed ? isConsumed(node) : node.consumed) throw node.refusedTwice(index);
  }

  #runs(node: GradNode): boolean {
    return !this.#wanted || this.#leading.has(node);
  }

  #runNode(node: GradNode, ahead: Ahead | null = null): void {
    const inbox = this.#inboxes.get(node)!;
    this.#inboxes.delete(node);
    const { retainGraph, onNode } = this.#options;
    if (!inbox.gradients.some((gradient) => gradient)) {
      // Nodes after a program that has brought none: nothing was computed of their results.
      const targets = this.#runs(node) ? this.#targetsOf(node) : [];
      for (const target of targets) if (target) this.#deliver(target, null);
      return;
    }
    let results: readonly (Tensor | null)[];
    /** Numbers of the targets to which the node has added its parts itself. */
    const summed = ahead?.summed ?? new Set<number>();
    try {
      const passInner = this.#passOutputs(node, inbox);
      if (!this.#runs(node)) return;
      onNode?.(node, inbox.gradients);
      const wanted = node.targets.map((target) => target !== null && this.#concerns(target));
      const takeSum = this.#sumsFor(node, summed);
      const only = this.#wantedOf(node);
      const apply = () =>
        node.apply(inbox.gradients, retainGraph, wanted, takeSum, passInner, only);
      if (ahead) results = ahead.results;
      else results = spans.active ? spans.around(spanOf(node), apply) : apply();
    } finally {
      for (const gradient of inbox.gradients) gradient?.dispose();
    }
    if (!retainGraph) node.finish();
    const targets = this.#targetsOf(node);
    const order = node.targetOrder && hasHooks(targets) ? node.targetOrder(inbox.gradients) : null;
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
      // A hook has thrown: gradients that were to follow its own have no owner.
      for (; next < targets.length; next++) results[order ? order[next]! : next]?.dispose();
      throw error;
    }
  }

  /** Gradients that are complete when the node begins; returns how to see those that become so inside. */
  #passOutputs(node: GradNode, { gradients }: Inbox): PassOutput | null {
    if (!node.hooks && !node.retained && !this.#wanted?.has(node)) return null;
    const wanted = this.#wanted?.get(node);
    const { sink } = this.#options;
    const pass = (index: number, gradient: Tensor): Tensor => {
      const passed = passOutput(node, index, gradient);
      if (wanted?.has(index)) sink({ node, index }, share(passed));
      return passed;
    };
    // A node that doesn't run adds nothing.
    const innerOutputs = this.#runs(node) ? node.innerOutputs : null;
    for (const index of node.hookOrder ?? gradients.keys()) {
      const gradient = gradients[index];
      if (gradient && !innerOutputs?.has(index)) gradients[index] = pass(index, gradient);
    }
    return innerOutputs && pass;
  }

  #deliver(place: Place, gradient: Tensor | null): void {
    const { names } = this.#options;
    if (names) names.deliver(place, gradient, this);
    else this.put(place, gradient);
  }

  put(place: Place, gradient: Tensor | null): void {
    const inbox = this.#inboxes.get(keyOf(place));
    if (!inbox || !this.#concerns(place)) {
      gradient?.dispose();
      return;
    }
    const index = indexOf(place);
    if (gradient) {
      const earlier = inbox.gradients[index];
      inbox.gradients[index] = earlier ? this.#add(place, earlier, gradient) : gradient;
    }
    if (--inbox.missing > 0) return;
    if ('node' in place) this.#enqueue(place.node);
    else this.#finishLeaf(place.leaf, inbox);
  }

  #add(place: Place, earlier: Tensor, gradient: Tensor): Tensor {
    const total = sum(earlier, gradient);
    if ('leaf' in place) this.#options.onLeafSum?.(place.leaf, total);
    return total;
  }

  /** Takes the sum of the gradients that have arrived so far, for a node that adds its own contributions one by one. */
  #takeSum(node: GradNode, place: Place): Tensor | null {
    const { names } = this.#options;
    return names ? names.take(node, place, this) : this.take(place);
  }

  set(place: Place, gradient: Tensor): void {
    this.#inboxes.get(keyOf(place))!.gradients[indexOf(place)] = gradient;
  }

  take(place: Place): Tensor | null {
    const gradients = this.#inboxes.get(keyOf(place))?.gradients;
    const earlier = gradients?.[indexOf(place)] ?? null;
    if (earlier) gradients![indexOf(place)] = null;
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

/** Whether a hook observes when a leaf's gradient is complete. */
function hasHooks(targets: readonly Target[]): boolean {
  for (const target of targets) {
    if (target && 'leaf' in target && target.leaf.hooks?.length) return true;
  }
  return false;
}

function spanOf({ name }: GradNode): SpanStart {
  return { kind: 'backward', name: `${name} backward`, device: 'host' };
}
