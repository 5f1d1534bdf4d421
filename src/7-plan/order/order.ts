import { ValueGroups } from '../../../runtime/program/memory-groups.ts';
import type { Program, ProgramOp } from '../../../runtime/program/program.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';
import type { Field } from '../../../runtime/save/file/field.ts';
import { type Choices, readIndices } from '../../programs/choices.ts';
import { once } from '../../programs/once.ts';
import type { Steps } from '../../programs/steps.ts';
import { type CutAt, cutAt, cutAtLast } from './cut-at.ts';
import { exactOrder } from './exact-order.ts';
import { type Families, familiesOf } from './families.ts';
import { delayed } from './late-writes.ts';
import { postponed, scheduleReleasesFirst } from './list-order.ts';
import {
  isLeaner,
  LiveBytes,
  type Order,
  type Profile,
  profileOf,
  sourceOrder,
} from './live-bytes.ts';
import { type GraphOptions, type MemoryGraph, memoryGraph, type OpIndex } from './memory-graph.ts';
import { movableOps, withViews } from './movable.ts';
import { improvedWindow } from './window.ts';

interface OrderedProgram {
  readonly program: Program;
  /**
   * A lower bound of the peak in any order of these ops: bytes above those allocated when the run began. Computed when
   * it is first read, since that takes as long as the search for the order.
   */
  readonly lowerBound: () => number;
}

/** Programs of up to this many ops are searched exhaustively, up to a limit on states. */
const exactOps = 40;
const exactStates = 4000;
/** The number of walks over large programs: the work grows linearly with their size. */
const rounds = 24;
const windowOps = 14;
const windowStates = 600;
const probes = 6;
/** Above this size, another round runs only if the previous one saved enough of the peak. */
const largeOps = 4000;
const leastShare = 1e-3;
/**
 * Cuts of the largest programs may take seconds: only a few are computed, for the bound, at the peak of the best order,
 * and none to refine it.
 */
const hugeOps = 20_000;
const hugeProbes = 32;
/** In the largest programs, a bound this close to the peak is not raised further. */
const closeEnough = 1 + 1e-3;

/**
 * In: a program, and what outlives it. Out: the same ops in an order with a low peak, with a lower bound of that
 * peak. Guarantees: every value is computed from the same values by the same op, and writes and reads of one memory
 * keep their order, so results are bitwise identical.
 */
export function* orderForMemory(
  program: Program,
  options: GraphOptions,
  { isFirst = false, choices }: OrderOptions = {},
): Steps<OrderedProgram> {
  const moving = movableOps(program);
  const known = choices?.of('order', (choice) => readOrder(choice, moving.length));
  const graph = known?.order === null ? null : memoryGraph(program, options, moving);
  if (graph && known && !isLegal(known.order!, graph)) known.fail();
  const found = known ?? (yield* searchedOrder(graph!, isFirst));
  if (!known) choices?.note('order', found);
  const { order, lowerBound } = found;
  const ordered = order ? inOrder(order.map((index) => moving[index]!)) : program;
  return {
    program: ordered,
    lowerBound: isFirst ? () => lowerBound : once(() => boundOf(ordered, options, lowerBound)),
  };

  function inOrder(ops: readonly ProgramOp[]): Program {
    return { ...program, ops: withViews(program, ops) };
  }
}

interface OrderOptions {
  /** Makes only a few walks over the program; the bound is loose. */
  readonly isFirst?: boolean;
  readonly choices?: Choices;
}

interface ChosenOrder {
  /** The order of the movable ops; null for program order. */
  readonly order: readonly OpIndex[] | null;
  /** The result of the search and its proven bound. */
  readonly lowerBound: number;
}

function* searchedOrder(graph: MemoryGraph, isFirst: boolean): Steps<ChosenOrder> {
  const search = new OrderSearch(graph);
  if (isFirst) search.rough();
  else yield* search.run();
  const { order, lowerBound } = search;
  const isSource = order.every((index, at) => index === at);
  return { order: isSource ? null : Array.from(order), lowerBound };
}

function readOrder(choice: Field, size: number): ChosenOrder & { readonly fail: () => never } {
  const order = choice.get('order');
  return {
    order: order.isNull ? null : readIndices(order, size),
    lowerBound: choice.get('lowerBound').int(0, Number.MAX_SAFE_INTEGER),
    fail: () => order.fail('every op once, behind those that it depends on'),
  };
}

/** Whether the order contains each op once, after all ops that must come before it. */
function isLegal(order: readonly OpIndex[], { size, before }: MemoryGraph): boolean {
  const done = new Uint8Array(size);
  for (const op of order) {
    if (done[op] || before.of(op).some((earlier) => !done[earlier])) return false;
    done[op] = 1;
  }
  return order.length === size;
}

/** Returns a lower bound for a program: the `known` one, or one proven by cuts at the ops with the most live bytes. */
export function boundOf(program: Program, options: GraphOptions, known = 0): number {
  const moving = movableOps(program);
  const graph = memoryGraph(program, options, moving);
  const search = new OrderSearch(graph, familiesOf(program, moving), known);
  search.probe();
  return search.lowerBound;
}

/** Returns the lowest peak that a few walks over the program find: sufficient to compare two programs. */
export function roughPeak(program: Program, options: GraphOptions): number {
  return new OrderSearch(memoryGraph(program, options)).rough();
}

/**
 * Returns the program in an order with a low peak, found by a few walks. Writes to the caller's memory come as late as
 * that order allows.
 */
export function roughlyOrdered(program: Program, options: GraphOptions): Program {
  const moving = movableOps(program);
  const graph = memoryGraph(program, options, moving);
  const search = new OrderSearch(graph);
  search.rough();
  const isWrite = writesToInputs(program);
  const order = delayed(graph, search.order, (op) => isWrite(moving[op]!));
  const ops = Array.from(order, (op) => moving[op]!);
  return { ...program, ops: withViews(program, ops) };
}

/** Returns a check whether an op writes to memory of an input: only such writes prevent recomputing. */
function writesToInputs({ ops, inputs }: Program): (op: ProgramOp) => boolean {
  const groups = new ValueGroups(ops, 'memory');
  const entered = new Set(inputs.map((id) => groups.of(id)));
  return (op) => writtenOperands(op).some((i) => entered.has(groups.of(op.inputs[i]!)));
}

class OrderSearch {
  readonly #graph: MemoryGraph;
  readonly #walk: LiveBytes;
  readonly #families: Families;
  readonly #cuts = new Map<OpIndex, CutAt>();
  order: Order;
  profile: Profile;
  lowerBound: number;

  constructor(graph: MemoryGraph, families: Families = [], known = 0) {
    this.#graph = graph;
    this.#families = families;
    this.#walk = new LiveBytes(graph);
    this.order = sourceOrder(graph);
    this.profile = profileOf(this.#walk, this.order);
    this.lowerBound = Math.max(known, graph.liveAtStart);
  }

  *run(): Steps<void> {
    if (this.#graph.size === 0) return;
    const [source, { peak }] = [this.order, this.profile];
    if (this.#graph.size > hugeOps) {
      this.#tryLists(this.order);
      return;
    }
    this.#cut(this.profile.peakAt);
    if (peak <= this.lowerBound) return;
    yield;
    this.#tryLists(this.order);
    for (let round = 0; round < rounds && this.#refine(); round++) yield;
    if (this.#graph.size <= exactOps) this.#searchAll();
    // Program order is the easiest to understand: it is changed only for a lower peak.
    if (this.profile.peak === peak) this.#take(source);
  }

  rough(): number {
    this.#tryLists(this.order);
    return this.profile.peak;
  }

  /** Computes bounds at the ops with the most live bytes. */
  probe(): void {
    if (this.profile.peak <= this.lowerBound) return;
    if (this.#graph.size > hugeOps) {
      this.#boundHuge();
      return;
    }
    const highest = this.#highest(probes);
    for (const position of highest) this.#cut(position);
    this.#cutFamilies(highest, this.profile.peak);
  }

  /** Cuts at the op that bounds most others, and at families of slices: these leave few ops undecided. */
  #boundHuge(): void {
    this.#cut(this.#boundedBest());
    this.#cutFamilies(this.#highest(hugeProbes), this.profile.peak / closeEnough);
  }

  /** Raises the bound by families of the ops at these positions, up to `enough`. */
  #cutFamilies(positions: readonly number[], enough: number): void {
    const families = new Set(positions.map((at) => this.#families[this.order[at]!]));
    for (const family of families) {
      if (!family || enough <= this.lowerBound) continue;
      this.lowerBound = Math.max(this.lowerBound, cutAtLast(this.#graph, family, this.lowerBound));
    }
  }

  /** Returns the positions with the most live bytes, in this order. */
  #highest(count: number): readonly number[] {
    const during = new Float64Array(this.order.length);
    this.#walk.restart();
    this.order.forEach((op, i) => {
      during[i] = this.#walk.step(op);
    });
    const positions = Array.from(this.order.keys()).sort((a, b) => during[b]! - during[a]!);
    return positions.slice(0, count);
  }

  /**
   * Returns the highest position whose op has the most ops before and after it in any order: other ops might run while
   * few bytes are live.
   */
  #boundedBest(): number {
    const { before, after } = this.#graph;
    let [best, most] = [this.profile.peakAt, -1];
    for (const position of this.#highest(hugeProbes)) {
      const op = this.order[position]!;
      const count = Math.min(countReached(op, before), countReached(op, after));
      if (count > most) [best, most] = [position, count];
    }
    return best;
  }

  /** Moves ops away from the peak where possible; returns false if that no longer helps. */
  #refine(): boolean {
    const { peak, peakAt } = this.profile;
    const { earlier } = this.#cut(peakAt);
    if (peak <= this.lowerBound) return false;
    const before = this.profile;
    this.#tryLists(partitioned(this.order, earlier));
    if (this.#isWorthwhile(before)) return true;
    const from = Math.max(0, peakAt - windowOps + 4);
    const to = Math.min(this.order.length, peakAt + 4);
    const improved = improvedWindow(this.#graph, this.order, from, to, windowStates);
    if (improved) this.#offer(improved);
    return this.#isWorthwhile(before);
  }

  #isWorthwhile(before: Profile): boolean {
    if (this.#graph.size <= largeOps) return this.profile !== before;
    return this.profile.peak < before.peak * (1 - leastShare);
  }

  #cut(position: number): CutAt {
    const op = this.order[position]!;
    const known = this.#cuts.get(op);
    if (known) return known;
    const cut = cutAt(this.#graph, op);
    this.#cuts.set(op, cut);
    this.lowerBound = Math.max(this.lowerBound, cut.bytes);
    return cut;
  }

  #tryLists(base: Order): void {
    this.#offer(base);
    const { peak } = this.profile;
    const scheduled = (order: Order) => scheduleReleasesFirst(this.#graph, order, peak);
    const early = scheduled(base);
    const late = postponed(this.#graph, early);
    const lists = [early, late, scheduled(late), scheduled(postponed(this.#graph, base))];
    for (const order of lists) this.#offer(order);
  }

  #offer(order: Order): void {
    const profile = profileOf(this.#walk, order);
    if (!isLeaner(profile, this.profile)) return;
    this.order = order;
    this.profile = profile;
  }

  #take(order: Order): void {
    this.order = order;
    this.profile = profileOf(this.#walk, order);
  }

  #searchAll(): void {
    if (this.profile.peak <= this.lowerBound) return;
    const { order, complete } = exactOrder(this.#graph, this.profile.peak, exactStates);
    if (order) this.#offer(order);
    if (complete) this.lowerBound = this.profile.peak;
  }
}

/** Returns the number of ops reachable from one along the edges. */
function countReached(op: OpIndex, edges: MemoryGraph['before']): number {
  const seen = new Set([op]);
  for (const next of seen) for (const other of edges.of(next)) seen.add(other);
  return seen.size - 1;
}

/** Moves the ops that a cut puts before the op at the peak to the front; both parts keep their order. */
function partitioned(order: Order, earlier: Uint8Array): Order {
  const result = new Int32Array(order.length);
  let at = 0;
  for (const op of order) if (earlier[op]) result[at++] = op;
  for (const op of order) if (!earlier[op]) result[at++] = op;
  return result;
}
