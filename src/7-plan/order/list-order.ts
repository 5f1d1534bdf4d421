import type { Lists } from './lists.ts';
import { LiveBytes, type Order } from './live-bytes.ts';
import type { MemoryGraph, OpIndex, StorageIndex } from './memory-graph.ts';
import { ReadyQueue } from './ready-queue.ts';

/** A direction in which ops are scheduled one after another. */
interface Scheduling {
  /** The order to keep, in this direction. */
  readonly order: Order;
  /** The ops that must precede each op, and the ops that must follow it. */
  readonly before: Lists;
  readonly after: Lists;
  /** Whether scheduling the op next leaves no more bytes live. */
  readonly shrinks: (op: OpIndex) => boolean;
  /** Schedules the op. Calls `ask` with each storage whose other ops may now shrink the live bytes. */
  readonly schedule: (op: OpIndex, ask: (storage: StorageIndex) => void) => void;
}

/** List scheduling: the next op in the given order, unless another ready op shrinks the live bytes. */
function scheduled(graph: MemoryGraph, { order, before, after, ...effects }: Scheduling): Order {
  const { size, touchers } = graph;
  const waiting = before.lengths();
  const ready = new ReadyQueue(rankOf(order));
  const done = new Uint8Array(size);
  /** Ready ops whose effect on the live bytes is worth computing. */
  const candidates: OpIndex[] = [];
  const admit = (op: OpIndex) => {
    ready.push(op);
    candidates.push(op);
  };
  for (const op of order) if (waiting[op] === 0) admit(op);
  const result = new Int32Array(size);
  for (let i = 0; i < size; i++) {
    const op = nextShrinking() ?? nextInOrder();
    result[i] = op;
    done[op] = 1;
    effects.schedule(op, ask);
    for (let at = after.starts[op]!; at < after.starts[op + 1]!; at++) {
      const next = after.items[at]!;
      if (--waiting[next]! === 0) admit(next);
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
      if (!done[op] && effects.shrinks(op)) return op;
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

function rankOf(order: Order): Int32Array {
  const rank = new Int32Array(order.length);
  order.forEach((op, position) => {
    rank[op] = position;
  });
  return rank;
}

/**
 * List scheduling from the front: keeps the given order, but runs an op that doesn't increase the live bytes as soon as
 * possible, such as applying a complete gradient. The op may raise the live bytes up to `ceiling` while it runs.
 */
export function scheduleReleasesFirst(graph: MemoryGraph, order: Order, ceiling: number): Order {
  const { before, after, touches } = graph;
  const walk = new LiveBytes(graph);
  return scheduled(graph, {
    order,
    before,
    after,
    shrinks: (op) => walk.change(op) <= 0 && walk.live + walk.growth(op) <= ceiling,
    schedule: (op, ask) => {
      walk.step(op);
      for (let at = touches.starts[op]!; at < touches.starts[op + 1]!; at++) {
        const storage = touches.items[at]!;
        if (walk.remaining[storage] === 1) ask(storage);
      }
    },
  });
}

/**
 * List scheduling from the end: keeps the given order, but runs an op as late as possible if no more bytes are live
 * before it than after. Nothing is then computed long before its use.
 */
export function postponed(graph: MemoryGraph, order: Order): Order {
  const { after, before, bytes, makes, maker, pinned, touches } = graph;
  /** Memory that is live after the ops scheduled next. */
  const isLive = Uint8Array.from(pinned);
  const reversed = scheduled(graph, {
    order: order.slice().reverse(),
    before: after,
    after: before,
    shrinks: (op) => changeBackwards(op) <= 0,
    schedule: (op, ask) => {
      for (let at = touches.starts[op]!; at < touches.starts[op + 1]!; at++) {
        const storage = touches.items[at]!;
        if (isLive[storage]) continue;
        isLive[storage] = 1;
        ask(storage);
      }
      for (let at = makes.starts[op]!; at < makes.starts[op + 1]!; at++)
        isLive[makes.items[at]!] = 0;
    },
  });
  return reversed.reverse();

  /** Live bytes before the op, minus those after it. */
  function changeBackwards(op: OpIndex): number {
    let change = 0;
    for (let at = touches.starts[op]!; at < touches.starts[op + 1]!; at++) {
      const storage = touches.items[at]!;
      if (maker[storage] === op) {
        if (isLive[storage]) change -= bytes[storage]!;
      } else if (!isLive[storage]) change += bytes[storage]!;
    }
    return change;
  }
}
