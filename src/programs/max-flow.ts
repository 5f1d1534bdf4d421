/**
 * Maximum flow from node 0 to node 1 by Dinic's method (Dinic 1970), and the minimum cut that it proves. Edges are
 * stored in flat arrays, each next to its reverse.
 */
export class FlowNetwork {
  readonly #first: number[] = [-1, -1];
  readonly #next: number[] = [];
  readonly #to: number[] = [];
  readonly #capacity: number[] = [];

  static readonly source = 0;
  static readonly sink = 1;

  addNode(): number {
    return this.#first.push(-1) - 1;
  }

  addEdge(from: number, to: number, capacity: number): void {
    this.#addArc(from, to, capacity);
    this.#addArc(to, from, 0);
  }

  /** Returns the value of a maximum flow, or stops at `limit`. */
  maxFlow(): number {
    let flow = 0;
    const level = new Int32Array(this.#first.length);
    const arc = new Int32Array(this.#first.length);
    for (this.#find(level); level[FlowNetwork.sink]! >= 0; this.#find(level)) {
      arc.set(this.#first);
      for (let sent = this.#augment(level, arc); sent > 0; sent = this.#augment(level, arc)) {
        flow += sent;
      }
    }
    return flow;
  }

  /** After `maxFlow`: returns whether a node is on the source's side of the minimum cut. */
  sourceSide(): (node: number) => boolean {
    const level = new Int32Array(this.#first.length);
    this.#find(level);
    return (node) => level[node]! >= 0;
  }

  #addArc(from: number, to: number, capacity: number): void {
    this.#next.push(this.#first[from]!);
    this.#first[from] = this.#to.push(to) - 1;
    this.#capacity.push(capacity);
  }

  /**
   * Finds the level of each node: its distance from the source over arcs with residual capacity; −1 if unreachable.
   */
  #find(level: Int32Array): void {
    level.fill(-1);
    level[FlowNetwork.source] = 0;
    const queue = [FlowNetwork.source];
    for (const node of queue) {
      for (let arc = this.#first[node]!; arc >= 0; arc = this.#next[arc]!) {
        const to = this.#to[arc]!;
        if (this.#capacity[arc]! <= 0 || level[to]! >= 0) continue;
        level[to] = level[node]! + 1;
        queue.push(to);
      }
    }
  }

  /** Augments the flow along one shortest path. Iterative, since paths are as long as programs. */
  #augment(level: Int32Array, arc: Int32Array): number {
    const path: number[] = [];
    let node: number = FlowNetwork.source;
    while (node !== FlowNetwork.sink) {
      const next = this.#advance(node, level, arc);
      if (next >= 0) {
        path.push(next);
        node = this.#to[next]!;
        continue;
      }
      const last = path.pop();
      if (last === undefined) return 0;
      // Dead end: not visited again in this phase.
      level[node] = -1;
      node = this.#to[last ^ 1]!;
    }
    let room = Number.POSITIVE_INFINITY;
    for (const edge of path) room = Math.min(room, this.#capacity[edge]!);
    for (const edge of path) {
      this.#capacity[edge]! -= room;
      this.#capacity[edge ^ 1]! += room;
    }
    return room;
  }

  #advance(node: number, level: Int32Array, arc: Int32Array): number {
    for (let edge = arc[node]!; edge >= 0; edge = this.#next[edge]!) {
      arc[node] = edge;
      if (this.#capacity[edge]! > 0 && level[this.#to[edge]!] === level[node]! + 1) return edge;
    }
    arc[node] = -1;
    return -1;
  }
}
