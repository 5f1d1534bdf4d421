import { LiveBytes, type Order } from './live-bytes.ts';
import type { MemoryGraph, OpIndex, StorageIndex } from './memory-graph.ts';
import { ReadyQueue } from './ready-queue.ts';

function rankOf(order: Order): Int32Array {
  const rank = new Int32Array(order.length);
  order.forEach((op, position) => {
    rank[op] = position;
  });
  return rank;
}

/**
 * List scheduling from the front: keeps the given order, but runs an op that doesn't increase the live bytes as
 * soon as possible. Gradients are thus applied as soon as they are complete. Such an op may raise the live bytes up
 * to `ceiling` while it runs.
 */
export function hastened(graph: MemoryGraph, given: Order, ceiling: number): Order {
  const walk = new LiveBytes(graph);
  const { after, touchers, touches } = graph;
  const waiting = graph.before.lengths();
  const ready = new ReadyQueue(rankOf(given));
  const done = new Uint8Array(graph.size);
  /** Ready ops whose effect on the live bytes is worth computing. */
  const candidates: OpIndex[] = [];
  const admit = (op: OpIndex) => {
    ready.push(op);
    candidates.push(op);
  };
  for (const op of given) if (waiting[op] === 0) admit(op);
  const result = new Int32Array(graph.size);
  for (let i = 0; i < graph.size; i++) {
    const op = nextShrinking() ?? nextInOrder();
    result[i] = op;
    done[op] = 1;
    walk.step(op);
    for (let at = touches.starts[op]!; at < touches.starts[op + 1]!; at++) {
      const storage = touches.items[at]!;
      if (walk.remaining[storage] === 1) ask(storage);
    }
    for (let at = after.starts[op]!; at < after.starts[op + 1]!; at++) {
      const later = after.items[at]!;
      if (--waiting[later]! === 0) admit(later);
    }
  }
  return result;

  function ask(storage: StorageIndex): void {
    for (let at = touchers.starts[storage]!; at < touchers.starts[storage + 1]!; at++) {
      const other = touchers.items[at]!;
      if (!done[other] && waiting[other] === 0) candidates.push(other);
    }
  }

  function nextShrinking(): OpIndex | undefined {
    for (let op = candidates.pop(); op !== undefined; op = candidates.pop()) {
      if (done[op]) continue;
      if (walk.change(op) <= 0 && walk.live + walk.growth(op) <= ceiling) return op;
    }
    return undefined;
  }

  function nextInOrder(): OpIndex {
    for (;;) {
      const op = ready.pop()!;
      if (!done[op]) return op;
    }
  }
}

/**
 * List scheduling from the end: keeps the given order, but runs an op as late as possible if no more bytes are live
 * before it than after. Nothing is thus computed long before it is needed.
 */
export function postponed(graph: MemoryGraph, given: Order): Order {
  const { size, after, before, bytes, makes, maker, pinned, touchers, touches } = graph;
  const reversed = given.slice().reverse();
  const waiting = after.lengths();
  const ready = new ReadyQueue(rankOf(reversed));
  const done = new Uint8Array(size);
  /** Live after the position that is filled next. */
  const alive = Uint8Array.from(pinned);
  const candidates: OpIndex[] = [];
  const admit = (op: OpIndex) => {
    ready.push(op);
    candidates.push(op);
  };
  for (const op of reversed) if (waiting[op] === 0) admit(op);
  const result = new Int32Array(size);
  for (let i = size - 1; i >= 0; i--) {
    const op = nextShrinking() ?? nextInOrder();
    result[i] = op;
    done[op] = 1;
    for (let at = touches.starts[op]!; at < touches.starts[op + 1]!; at++) {
      const storage = touches.items[at]!;
      if (alive[storage]) continue;
      alive[storage] = 1;
      ask(storage);
    }
    for (let at = makes.starts[op]!; at < makes.starts[op + 1]!; at++) alive[makes.items[at]!] = 0;
    for (let at = before.starts[op]!; at < before.starts[op + 1]!; at++) {
      const earlier = before.items[at]!;
      if (--waiting[earlier]! === 0) admit(earlier);
    }
  }
  return result;

  function ask(storage: StorageIndex): void {
    for (let at = touchers.starts[storage]!; at < touchers.starts[storage + 1]!; at++) {
      const other = touchers.items[at]!;
      if (!done[other] && waiting[other] === 0) candidates.push(other);
    }
  }

  function nextShrinking(): OpIndex | undefined {
    for (let op = candidates.pop(); op !== undefined; op = candidates.pop()) {
      if (!done[op] && changeBackwards(op) <= 0) return op;
    }
    return undefined;
  }

  function nextInOrder(): OpIndex {
    for (;;) {
      const op = ready.pop()!;
      if (!done[op]) return op;
    }
  }

  /** Live bytes before the op, minus those after it. */
  function changeBackwards(op: OpIndex): number {
    let change = 0;
    for (let at = touches.starts[op]!; at < touches.starts[op + 1]!; at++) {
      const storage = touches.items[at]!;
      if (maker[storage] === op) {
        if (alive[storage]) change -= bytes[storage]!;
      } else if (!alive[storage]) change += bytes[storage]!;
    }
    return change;
  }
}
