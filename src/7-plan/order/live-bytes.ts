import type { MemoryGraph, OpIndex, StorageIndex } from './memory-graph.ts';

/** A permutation of the ops that respects the graph. */
export type Order = Int32Array;

/** Live bytes while an order runs. */
export interface Profile {
  readonly peak: number;
  /** Position in the order of the first op that reaches the peak. */
  readonly peakAt: number;
  /** Sum of live bytes over the ops: breaks ties between orders with equal peaks. */
  readonly area: number;
}

export function sourceOrder({ size }: MemoryGraph): Order {
  return Int32Array.from({ length: size }, (_, i) => i);
}

/** Whether order `a` is better than `b`. */
export function isLeaner(a: Profile, b: Profile): boolean {
  return a.peak < b.peak || (a.peak === b.peak && a.area < b.area);
}

/**
 * Live bytes step by step, counted as the planner does: an op's outputs are allocated, its scratch is allocated and
 * freed, then storages whose last use it was are freed. An op can be stepped over only once per walk.
 */
export class LiveBytes {
  readonly #graph: MemoryGraph;
  readonly #initial: Int32Array;
  /** For each storage, the number of remaining ops that touch it. */
  readonly remaining: Int32Array;
  live = 0;

  constructor(graph: MemoryGraph) {
    this.#graph = graph;
    this.#initial = graph.touchers.lengths();
    this.remaining = new Int32Array(this.#initial.length);
    this.restart();
  }

  restart(): void {
    this.remaining.set(this.#initial);
    this.live = this.#graph.liveAtStart;
  }

  /** Runs the next op. Returns the live bytes while it runs. */
  step(op: OpIndex): number {
    const { bytes, pinned, scratch, touches } = this.#graph;
    const taken = this.#takenBy(op);
    if (taken < 0) this.live += this.#madeBy(op);
    const during = this.live + scratch[op]!;
    for (let at = touches.starts[op]!; at < touches.starts[op + 1]!; at++) {
      const storage = touches.items[at]!;
      if (--this.remaining[storage]! > 0 || pinned[storage] || storage === taken) continue;
      this.live -= bytes[storage]!;
    }
    return during;
  }

  /** Bytes that the op allocates before anything is freed, including its scratch. */
  growth(op: OpIndex): number {
    const scratch = this.#graph.scratch[op]!;
    return this.#takenBy(op) < 0 ? scratch + this.#madeBy(op) : scratch;
  }

  /** Returns how the live bytes would change if the op ran next. */
  change(op: OpIndex): number {
    const { bytes, pinned, touches } = this.#graph;
    const taken = this.#takenBy(op);
    let change = taken < 0 ? this.#madeBy(op) : 0;
    for (let at = touches.starts[op]!; at < touches.starts[op + 1]!; at++) {
      const storage = touches.items[at]!;
      if (this.remaining[storage] !== 1 || pinned[storage] || storage === taken) continue;
      change -= bytes[storage]!;
    }
    return change;
  }

  /** Returns the operand whose memory the output would reuse now, or −1. Such ops have one output. */
  #takenBy(op: OpIndex): StorageIndex {
    const { starts, items } = this.#graph.reusable;
    for (let at = starts[op]!; at < starts[op + 1]!; at++) {
      if (this.remaining[items[at]!] === 1) return items[at]!;
    }
    return -1;
  }

  /** Returns the bytes of the op's outputs. */
  #madeBy(op: OpIndex): number {
    const { bytes, makes } = this.#graph;
    let sum = 0;
    for (let at = makes.starts[op]!; at < makes.starts[op + 1]!; at++)
      sum += bytes[makes.items[at]!]!;
    return sum;
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
