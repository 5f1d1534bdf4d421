import { exactOrder } from './exact-order.ts';
import { Lists } from './lists.ts';
import { LiveBytes, type Order } from './live-bytes.ts';
import type { MemoryGraph } from './memory-graph.ts';

/**
 * Returns the order with its ops from `from` up to, but not including, `to` in their best order; null if no better
 * order exists or the search doesn't find one within `limit` states.
 */
export function improvedWindow(
  graph: MemoryGraph,
  order: Order,
  from: number,
  to: number,
  limit: number,
): Order | null {
  const window = windowGraph(graph, order, from, to);
  const walk = new LiveBytes(window);
  let known = walk.live;
  for (let op = 0; op < window.size; op++) known = Math.max(known, walk.step(op));
  const { order: found } = exactOrder(window, known, limit);
  if (!found) return null;
  const improved = order.slice();
  found.forEach((op, i) => {
    improved[from + i] = order[from + op]!;
  });
  return improved;
}

/** Returns a window of an order as a separate graph: earlier ops have run, later ops haven't. */
function windowGraph(graph: MemoryGraph, order: Order, from: number, to: number): MemoryGraph {
  const numbers = new Map<number, number>();
  for (let i = from; i < to; i++) numbers.set(order[i]!, i - from);
  const walk = new LiveBytes(graph);
  for (let i = 0; i < from; i++) walk.step(order[i]!);
  const ops = [...numbers.keys()];
  const storages = new Map<number, number>();
  for (const op of ops) {
    for (const storage of graph.touches.of(op)) {
      if (!storages.has(storage)) storages.set(storage, storages.size);
    }
  }
  const inside = (list: Int32Array) => [...list].flatMap((op) => numbers.get(op) ?? []);
  const storagesOf = (list: Int32Array) => Array.from(list, (storage) => storages.get(storage)!);
  const kept = [...storages.keys()];
  const touchers = kept.map((storage) => inside(graph.touchers.of(storage)));
  const bytes = Float64Array.from(kept, (storage) => graph.bytes[storage]!);
  // Used again after the window: live at its end in any order.
  const pinned = Uint8Array.from(kept, (storage, i) =>
    graph.pinned[storage] || walk.remaining[storage]! > touchers[i]!.length ? 1 : 0,
  );
  return {
    size: ops.length,
    before: Lists.from(ops.map((op) => inside(graph.before.of(op)))),
    after: Lists.from(ops.map((op) => inside(graph.after.of(op)))),
    touches: Lists.from(ops.map((op) => storagesOf(graph.touches.of(op)))),
    makes: Lists.from(ops.map((op) => storagesOf(graph.makes.of(op)))),
    reusable: Lists.from(
      ops.map((op) => storagesOf(graph.reusable.of(op)).filter((storage) => pinned[storage] === 0)),
    ),
    scratch: Float64Array.from(ops, (op) => graph.scratch[op]!),
    bytes,
    pinned,
    maker: Int32Array.from(kept, (storage) => numbers.get(graph.maker[storage]!) ?? -1),
    touchers: Lists.from(touchers),
    liveAtStart: walk.live,
  };
}
