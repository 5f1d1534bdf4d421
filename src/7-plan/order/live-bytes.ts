import type { MemoryGraph, OpIndex, StorageIndex } from './memory-graph.ts';

/** A permutation of the ops that respects the graph. */
export type Order = Int32Array;

/** Bytes alive while an order runs. */
export interface Profile {
  readonly peak: number;
  /** Position in the order of the first op with that peak. */
  readonly peakAt: number;
  /** Sum over the ops: of two orders with one peak the leaner. */
  readonly area: number;
}

export function sourceOrder({ size }: MemoryGraph): Order {
  return Int32Array.from({ length: size }, (_, i) => i);
}

/** Whether one order is better than another. */
export function isLeaner(a: Profile, b: Profile): boolean {
  return a.peak < b.peak || (a.peak === b.peak && a.area < b.area);
}

/**
 * Live bytes step by step, as the planner counts them: an op's outputs come, its scratch comes and goes,
 * then what it was the last to touch leaves. The same op can be stepped over only once per walk.
 */
export class LiveBytes {
  readonly #graph: MemoryGraph;
  readonly #initial: Int32Array;
  /** The number of ops that are still to touch each storage. */
  readonly remaining: Int32Array;
  live = 0;

  constructor(graph: MemoryGraph) {
    this.#graph = graph;
    this.#initial = Int32Array.from(graph.touchers, (ops) => ops.length);
    this.remaining = new Int32Array(graph.touchers.length);
    this.restart();
  }

  restart(): void {
    this.remaining.set(this.#initial);
    this.live = this.#graph.liveAtStart;
  }

  /** Takes the next op; returns the bytes alive while it runs. */
  step(op: OpIndex): number {
    const { bytes, makes, pinned, scratch, touches } = this.#graph;
    const taken = this.#takenBy(op);
    if (taken < 0) for (const storage of makes[op]!) this.live += bytes[storage]!;
    const during = this.live + scratch[op]!;
    for (const storage of touches[op]!) {
      if (--this.remaining[storage]! > 0 || pinned[storage] || storage === taken) continue;
      this.live -= bytes[storage]!;
    }
    return during;
  }

  /** Bytes that come with the op before anything goes, its scratch included. */
  growth(op: OpIndex): number {
    const { bytes, makes, scratch } = this.#graph;
    let sum = scratch[op]!;
    if (this.#takenBy(op) < 0) for (const storage of makes[op]!) sum += bytes[storage]!;
    return sum;
  }

  /** By how much the live bytes would change over the op, if it came next. */
  change(op: OpIndex): number {
    const { bytes, makes, pinned, touches } = this.#graph;
    const taken = this.#takenBy(op);
    let change = 0;
    if (taken < 0) for (const storage of makes[op]!) change += bytes[storage]!;
    for (const storage of touches[op]!) {
      if (this.remaining[storage] !== 1 || pinned[storage] || storage === taken) continue;
      change -= bytes[storage]!;
    }
    return change;
  }

  /** The operand whose memory the output would take now; −1: none. Such ops have one output. */
  #takenBy(op: OpIndex): StorageIndex {
    for (const storage of this.#graph.reusable[op]!) {
      if (this.remaining[storage] === 1) return storage;
    }
    return -1;
  }
}

export function profileOf(walk: LiveBytes, order: Order): Profile {
  walk.restart();
  let peak = walk.live;
  let peakAt = 0;
  let area = 0;
  for (let i = 0; i < order.length; i++) {
    const during = walk.step(order[i]!);
    area += during;
    if (during > peak) {
      peak = during;
      peakAt = i;
    }
  }
  return { peak, peakAt, area };
}
