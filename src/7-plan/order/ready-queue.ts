import type { OpIndex } from './memory-graph.ts';

/** Ops that are ready to run, lowest rank first: a binary heap. */
export class ReadyQueue {
  readonly #ops: OpIndex[] = [];
  readonly #rank: Int32Array;

  constructor(rank: Int32Array) {
    this.#rank = rank;
  }

  push(op: OpIndex): void {
    const ops = this.#ops;
    let at = ops.push(op) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#rank[ops[parent]!]! <= this.#rank[op]!) break;
      ops[at] = ops[parent]!;
      at = parent;
    }
    ops[at] = op;
  }

  pop(): OpIndex | undefined {
    const ops = this.#ops;
    const top = ops[0];
    const last = ops.pop();
    if (top === undefined || last === undefined || ops.length === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= ops.length) break;
      const right = child + 1;
      if (right < ops.length && this.#rank[ops[right]!]! < this.#rank[ops[child]!]!) child = right;
      if (this.#rank[ops[child]!]! >= this.#rank[last]!) break;
      ops[at] = ops[child]!;
      at = child;
    }
    ops[at] = last;
    return top;
  }
}
