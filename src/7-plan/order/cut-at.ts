import { FlowNetwork } from '../../programs/max-flow.ts';
import type { MemoryGraph, OpIndex } from './memory-graph.ts';

export interface CutAt {
  /** The fewest bytes that are live in any order while the op runs. */
  readonly bytes: number;
  /** 1 for each op that comes before the op in that minimum. */
  readonly earlier: Uint8Array;
}

/**
 * Computes the fewest bytes that can be live while an op runs, over all orders. The ops that have run by then form a
 * set closed under "must come before" that contains the op's predecessors and none of its successors; a storage is live
 * if its maker is in the set and one of its users isn't. The cheapest such set is a minimum cut (a closure problem,
 * after Picard 1976) over the ops that may be on either side. With `earlier`, only orders in which these ops have run
 * count; null if there are none.
 */
export function cutAt(graph: MemoryGraph, op: OpIndex, earlier?: undefined): CutAt;
export function cutAt(graph: MemoryGraph, op: OpIndex, earlier: readonly OpIndex[]): CutAt | null;
export function cutAt(graph: MemoryGraph, op: OpIndex, ran: readonly OpIndex[] = []): CutAt | null {
  const { before: predecessors, bytes, maker, pinned, touchers } = graph;
  const side = sidesOf(graph, op, ran);
  if (!side) return null;
  const earlier = new Uint8Array(graph.size);
  const network = new FlowNetwork();
  const nodes = new Int32Array(graph.size);
  for (let other = 0; other < graph.size; other++) {
    if (side[other] === before) earlier[other] = 1;
    nodes[other] = side[other] === open ? network.addNode() : nodeOfSide[side[other]! as Closed];
  }
  for (let other = 0; other < graph.size; other++) {
    if (side[other] !== open) continue;
    for (let at = predecessors.starts[other]!; at < predecessors.starts[other + 1]!; at++) {
      const needed = predecessors.items[at]!;
      if (side[needed] === open) network.addEdge(nodes[other]!, nodes[needed]!, unlimited);
    }
  }
  let fixed = 0;
  for (let storage = 0; storage < bytes.length; storage++) {
    if (bytes[storage] === 0) continue;
    const producer = maker[storage]!;
    const madeBy = producer < 0 ? before : side[producer]!;
    if (madeBy === after || producer === op) continue;
    const start = touchers.starts[storage]!;
    const end = touchers.starts[storage + 1]!;
    let staying = pinned[storage] === 1;
    let hasOpenUsers = false;
    for (let at = start; at < end; at++) {
      const user = side[touchers.items[at]!];
      if (user === after) staying = true;
      else if (user === open) hasOpenUsers = true;
    }
    if (madeBy === before && staying) {
      fixed += bytes[storage]!;
      continue;
    }
    if (!staying && !hasOpenUsers) continue;
    const from = producer < 0 ? FlowNetwork.source : nodes[producer]!;
    if (staying) {
      network.addEdge(from, FlowNetwork.sink, bytes[storage]!);
      continue;
    }
    const held = network.addNode();
    network.addEdge(from, held, bytes[storage]!);
    for (let at = start; at < end; at++) {
      const user = touchers.items[at]!;
      if (side[user] === open) network.addEdge(held, nodes[user]!, unlimited);
    }
  }
  const flow = network.maxFlow();
  const isSource = network.sourceSide();
  for (let other = 0; other < graph.size; other++) {
    if (side[other] === open && isSource(nodes[other]!)) earlier[other] = 1;
  }
  return { bytes: fixed + flow + growthAtLeast(graph, op, side), earlier };
}

/**
 * Computes the fewest bytes that can be live while the last of these ops runs, in any order. This bound is higher than
 * the bounds of the single ops, each of which leaves the others for later. Stops once the bound can't exceed the
 * `known` one.
 */
export function cutAtLast(graph: MemoryGraph, ops: readonly OpIndex[], known = 0): number {
  let least = Number.POSITIVE_INFINITY;
  for (const op of ops) {
    const others = ops.filter((other) => other !== op);
    least = Math.min(least, cutAt(graph, op, others)?.bytes ?? least);
    if (least <= known) break;
  }
  return least;
}

const open = 0;
const before = 1;
const after = 2;
type Closed = typeof before | typeof after;
const nodeOfSide: { readonly [S in Closed]: number } = {
  [before]: FlowNetwork.source,
  [after]: FlowNetwork.sink,
};
const unlimited = Number.POSITIVE_INFINITY;

/**
 * Returns which ops precede or follow the given op in every order in which `ran` have run; the op itself counts as not
 * yet run.
 */
function sidesOf(graph: MemoryGraph, op: OpIndex, ran: readonly OpIndex[]): Uint8Array | null {
  const side = new Uint8Array(graph.size);
  for (const other of ran) side[other] = before;
  const spread = (edges: MemoryGraph['before'], mark: Closed) => {
    const reached = mark === before ? [op, ...ran] : [op];
    for (const from of reached) {
      for (let at = edges.starts[from]!; at < edges.starts[from + 1]!; at++) {
        const to = edges.items[at]!;
        if (side[to] === mark) continue;
        side[to] = mark;
        reached.push(to);
      }
    }
  };
  spread(graph.before, before);
  if (side[op] === before) return null;
  spread(graph.after, after);
  if (ran.some((other) => side[other] === after)) return null;
  side[op] = after;
  return side;
}

/** Returns the bytes that the op adds in any order: its results, unless one may reuse a dying operand's memory. */
function growthAtLeast(graph: MemoryGraph, op: OpIndex, side: Uint8Array): number {
  const { bytes, makes, reusable, scratch, touchers } = graph;
  const mayTake = reusable
    .of(op)
    .some((storage) => touchers.of(storage).every((user) => user === op || side[user] !== after));
  let growth = scratch[op]!;
  if (!mayTake) for (const storage of makes.of(op)) growth += bytes[storage]!;
  return growth;
}
