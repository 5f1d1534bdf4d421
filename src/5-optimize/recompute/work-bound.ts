import type { ValueId } from '../../../runtime/program/program.ts';
import { keptNetwork } from './cheapest-kept.ts';
import type { ForwardFacts } from './forward-facts.ts';

/** Exchange rates between bytes and arithmetic; each yields a bound. */
const usualRates = Array.from({ length: 16 }, (_, i) => 2 ** (i - 14));

/**
 * A lower bound of the arithmetic that any plan within a number of bytes repeats, in any order of its ops and with any
 * of them fused. The bytes kept at a bottleneck of the program plus any rate times that arithmetic are at least the
 * minimum cut at that rate. Repeated forwards of a step, as in slices, are bounded separately. Each cut is computed
 * once for all numbers of bytes.
 */
export class WorkBound {
  readonly #bottlenecks: readonly Bottleneck[];
  readonly #facts: ForwardFacts;
  readonly #rates: Iterator<number>;
  readonly #known: { readonly rate: number; readonly cuts: readonly number[] }[] = [];

  constructor(facts: ForwardFacts, rates: Iterable<number> = usualRates) {
    this.#facts = facts;
    this.#rates = rates[Symbol.iterator]();
    this.#bottlenecks = stretchesOf(facts.forward).flatMap((ops) => bottleneckIn(facts, ops) ?? []);
  }

  /** Returns the bound for these bytes, or the first one found of at least `enough`. */
  least(bytes: number, enough = Number.POSITIVE_INFINITY): number {
    let most = 0;
    for (let i = 0; most < enough; i++) {
      const next = this.#known[i] ?? this.#nextCuts();
      if (!next) break;
      const { rate, cuts } = next;
      const work = cuts.reduce((sum, cut) => sum + Math.max(0, cut - bytes) / rate, 0);
      most = Math.max(most, work);
    }
    return most;
  }

  #nextCuts() {
    const { done, value: rate } = this.#rates.next();
    if (done) return undefined;
    const cuts = this.#bottlenecks.map(({ ops, isRead }) =>
      keptNetwork(this.#facts, rate, none, ops, isRead).network.maxFlow(),
    );
    const next = { rate, cuts };
    this.#known.push(next);
    return next;
  }
}

const none: ReadonlySet<ValueId> = new Set();

/** Returns the ranges of consecutive numbers. */
function stretchesOf(numbers: readonly number[]): readonly (readonly number[])[] {
  const stretches: number[][] = [];
  for (const number of numbers) {
    const last = stretches.at(-1);
    if (last?.at(-1) === number - 1) last.push(number);
    else stretches.push([number]);
  }
  return stretches;
}

/** An op with the ops that precede it in every order. */
interface Bottleneck {
  /** The ops that it depends on, in order, followed by the op itself. */
  readonly ops: readonly number[];
  /** Whether backward reads the memory in an op that depends on this one. */
  readonly isRead: (root: ValueId) => boolean;
}

/** The number of ops to try as the bottleneck: the last ones of forward whose results backward reads. */
const mostTried = 6;

/** Returns the op between whose predecessors and successors the most bytes are kept; null if there is none. */
function bottleneckIn(facts: ForwardFacts, ops: readonly number[]): Bottleneck | null {
  const { program } = facts;
  let [best, most] = [null as Bottleneck | null, 0];
  let tried = 0;
  for (let i = ops.length - 1; i >= 0 && tried < mostTried; i--) {
    const outputs = program.ops[ops[i]!]!.outputs;
    if (!outputs.some((id) => facts.rootOf(id) === id && facts.isReadByBackward(id))) continue;
    tried++;
    const bottleneck = bottleneckAt(facts, ops, i);
    const kept = bottleneck.ops.flatMap((index) => program.ops[index]!.outputs);
    const bytes = kept
      .filter((id) => facts.rootOf(id) === id && bottleneck.isRead(id))
      .reduce((sum, id) => sum + facts.bytesOf(id), 0);
    if (bytes > most) [best, most] = [bottleneck, bytes];
  }
  return best;
}

function bottleneckAt(facts: ForwardFacts, ops: readonly number[], at: number): Bottleneck {
  const all = facts.program.ops;
  const needed = new Set<ValueId>(all[ops[at]!]!.outputs);
  const before: number[] = [];
  for (let i = at; i >= 0; i--) {
    const index = ops[i]!;
    if (!all[index]!.outputs.some((id) => needed.has(id))) continue;
    before.push(index);
    for (const id of facts.operandsOf(index)) needed.add(id);
  }
  const after = new Set<number>();
  const defined = new Set<ValueId>(all[ops[at]!]!.outputs);
  for (let index = ops[at]! + 1; index < all.length; index++) {
    if (!facts.operandsOf(index).some((id) => defined.has(id))) continue;
    after.add(index);
    for (const id of all[index]!.outputs) defined.add(id);
  }
  return {
    ops: before.reverse(),
    isRead: (root) => facts.backwardReads(root).some((index) => after.has(index)),
  };
}
