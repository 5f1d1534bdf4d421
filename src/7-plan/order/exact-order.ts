import { LiveBytes, type Order } from './live-bytes.ts';
import type { MemoryGraph, OpIndex } from './memory-graph.ts';

interface Search {
  /** The best order, if it beats the known one. */
  readonly order: Order | null;
  /** Whether the search was exhaustive: no better order exists. */
  readonly complete: boolean;
}

/** A node of the search: the ops that have run. */
interface State {
  readonly done: Uint8Array;
  readonly live: number;
  readonly peak: number;
  readonly count: number;
  readonly last: OpIndex;
  /** The previous state; the chain of these is the order so far. */
  readonly previous: State | null;
}

/**
 * Best-first search over the sets of ops that can have run (closed under "must come before"), lowest peak first: the
 * first complete set is optimal. An op that neither raises the peak nor leaves more live bytes than before is scheduled
 * immediately, since delaying it can't help. Finds orders whose peak is below `known`, and bails out after `limit`
 * states.
 */
export function exactOrder(graph: MemoryGraph, known: number, limit: number): Search {
  const walk = new LiveBytes(graph);
  const seen = new Map<string, number>();
  const levels = new Levels();
  levels.push(closed(graph, walk, start(graph)));
  let visited = 0;
  for (let state = levels.pop(); state; state = levels.pop()) {
    if (state.peak >= known) return { order: null, complete: true };
    if (state.count === graph.size) return { order: orderOf(state), complete: true };
    const key = keyOf(state.done);
    if ((seen.get(key) ?? Number.POSITIVE_INFINITY) <= state.peak) continue;
    seen.set(key, state.peak);
    if (++visited > limit) return { order: null, complete: false };
    load(graph, walk, state);
    for (const op of readyOps(graph, state.done)) {
      load(graph, walk, state);
      const next = closed(graph, walk, stepped(walk, state, op));
      if (next.peak < known) levels.push(next);
    }
  }
  return { order: null, complete: true };
}

function start(graph: MemoryGraph): State {
  const live = graph.liveAtStart;
  const done = new Uint8Array(graph.size);
  return { done, live, peak: live, count: 0, last: -1, previous: null };
}

function stepped(walk: LiveBytes, state: State, op: OpIndex): State {
  const during = walk.step(op);
  const done = state.done.slice();
  done[op] = 1;
  return {
    done,
    live: walk.live,
    peak: Math.max(state.peak, during),
    count: state.count + 1,
    last: op,
    previous: state,
  };
}

/** Schedules the ops that cost nothing. `walk` is in this state. */
function closed(graph: MemoryGraph, walk: LiveBytes, from: State): State {
  let state = from;
  for (;;) {
    if (state === from && state.count === 0) load(graph, walk, state);
    const { done, peak } = state;
    const isFree = (op: OpIndex) =>
      isReady(graph, done, op) && walk.change(op) <= 0 && walk.live + walk.growth(op) <= peak;
    let free = 0;
    while (free < graph.size && !isFree(free)) free++;
    if (free === graph.size) return state;
    state = stepped(walk, state, free);
  }
}

/** Moves the walk to the state. */
function load({ size, touches }: MemoryGraph, walk: LiveBytes, { done, live }: State): void {
  walk.restart();
  const { starts, items } = touches;
  const { remaining } = walk;
  for (let op = 0; op < size; op++) {
    if (done[op] === 0) continue;
    for (let at = starts[op]!; at < starts[op + 1]!; at++) remaining[items[at]!]!--;
  }
  walk.live = live;
}

function readyOps(graph: MemoryGraph, done: Uint8Array): OpIndex[] {
  const ready: OpIndex[] = [];
  for (let op = 0; op < graph.size; op++) if (isReady(graph, done, op)) ready.push(op);
  return ready;
}

/** Whether the op hasn't run and the ops that must come before it have. */
function isReady({ before }: MemoryGraph, done: Uint8Array, op: OpIndex): boolean {
  if (done[op] !== 0) return false;
  const { starts, items } = before;
  for (let at = starts[op]!; at < starts[op + 1]!; at++) if (done[items[at]!] === 0) return false;
  return true;
}

/** Packs sixteen ops into a character. */
function keyOf(done: Uint8Array): string {
  let [key, bits] = ['', 0];
  for (let op = 0; op < done.length; op++) {
    bits = (bits << 1) | done[op]!;
    if (op % 16 !== 15) continue;
    key += String.fromCharCode(bits);
    bits = 0;
  }
  return key + String.fromCharCode(bits);
}

function orderOf(state: State): Order {
  const order = new Int32Array(state.count);
  for (let at: State | null = state; at?.previous; at = at.previous) order[at.count - 1] = at.last;
  return order;
}

/** A binary heap of states by peak; ties go to the state with the most ops, then to the oldest. */
class Levels {
  readonly #states: State[] = [];
  readonly #numbers: number[] = [];
  #count = 0;

  push(state: State): void {
    const [states, numbers] = [this.#states, this.#numbers];
    const number = this.#count++;
    let at = states.length;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!comesBefore(state, number, states[above]!, numbers[above]!)) break;
      states[at] = states[above]!;
      numbers[at] = numbers[above]!;
      at = above;
    }
    states[at] = state;
    numbers[at] = number;
  }

  pop(): State | undefined {
    const [states, numbers] = [this.#states, this.#numbers];
    const [first, last] = [states[0], states.pop()];
    const number = numbers.pop()!;
    if (!last || states.length === 0) return first;
    let at = 0;
    for (let below = 1; below < states.length; below = 2 * at + 1) {
      const right = below + 1;
      const isRight =
        right < states.length &&
        comesBefore(states[right]!, numbers[right]!, states[below]!, numbers[below]!);
      const next = isRight ? right : below;
      if (!comesBefore(states[next]!, numbers[next]!, last, number)) break;
      states[at] = states[next]!;
      numbers[at] = numbers[next]!;
      at = next;
    }
    states[at] = last;
    numbers[at] = number;
    return first;
  }
}

function comesBefore(a: State, aNumber: number, b: State, bNumber: number): boolean {
  if (a.peak !== b.peak) return a.peak < b.peak;
  return a.count === b.count ? aNumber < bNumber : a.count > b.count;
}
