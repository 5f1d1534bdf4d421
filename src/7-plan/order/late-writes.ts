import { LiveBytes, type Order } from './live-bytes.ts';
import type { MemoryGraph, OpIndex } from './memory-graph.ts';

/**
 * Delays each of these ops that frees nothing, such as a write to a parameter, until right before an op that must
 * follow it: until then, values computed from the parameter can be recomputed.
 */
export function delayed(
  graph: MemoryGraph,
  order: Order,
  isWrite: (op: OpIndex) => boolean,
): Order {
  const walk = new LiveBytes(graph);
  const frees = new Uint8Array(graph.size);
  for (const op of order) {
    if (walk.change(op) < 0) frees[op] = 1;
    walk.step(op);
  }
  const positions = new Int32Array(graph.size);
  order.forEach((op, at) => {
    positions[op] = at;
  });
  const { starts, items } = graph.after;
  for (const op of [...order].reverse()) {
    if (frees[op] === 1 || !isWrite(op)) continue;
    let next = graph.size;
    for (let at = starts[op]!; at < starts[op + 1]!; at++)
      next = Math.min(next, positions[items[at]!]!);
    positions[op] = next;
  }
  // Delayed ops with the same position keep their order right before the op there.
  const last = (op: OpIndex) => Number(order[positions[op]!] === op);
  const placed = [...order.entries()].sort(
    ([i, a], [j, b]) => positions[a]! - positions[b]! || last(a) - last(b) || i - j,
  );
  return Int32Array.from(placed, ([, op]) => op);
}
