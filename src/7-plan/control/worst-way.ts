import type { ProgramOp } from '../../../runtime/program/program.ts';
import { UniformWay } from './ways.ts';

/** A run that was followed. */
export interface Followed {
  readonly peakBytes: number;
  /** The highest live bytes during each step, from one start for all ways. */
  readonly peaks: readonly number[];
  /** So many steps were followed for it, those of regions each time that they ran. */
  readonly steps: number;
}

/** Follows a run on a way. `like`: one that was followed, and decides the same but for one op. */
export type FollowWay<F extends Followed = Followed> = (
  way: UniformWay,
  like?: { readonly followed: F; readonly but: ProgramOp },
) => F;

interface Seen<F extends Followed> {
  readonly way: UniformWay;
  readonly followed: F;
}

/** A control op, and by how much each of its decisions raises the bytes of each step. */
interface Factor {
  readonly op: ProgramOp;
  readonly options: readonly Option[];
}

interface Option {
  readonly decision: number;
  readonly raises: readonly number[];
  /** Control ops that are met with this decision only. */
  readonly inner: readonly Factor[];
}

/** So many steps are followed for one plan, all its ways together, but a few ways are in any case. */
const mostSteps = 200_000;
/** So many ways are all tried. */
const fewWays = 8;
/** Of more, so many are followed that should be the worst. */
const mostCandidates = 4;

/**
 * The way with the highest peak.
 *
 * What a decision adds to the bytes of a step doesn't depend on the other decisions, but where ways share
 * memory. So each decision is followed by itself, the highest bytes of each step are put together from
 * these, and the ways that should have the highest steps are followed as they are. Where the sum is not
 * what was followed, ways that differ from the worst known one in one decision are tried as well.
 */
export function worstWay<F extends Followed>(follow: FollowWay<F>): UniformWay {
  let [ways, spent] = [0, 0];
  const look: Look<F> = (way, from, but) => {
    if (spent >= mostSteps && ways >= fewWays) return null;
    const followed = from ? follow(way, { followed: from.followed, but: but! }) : follow(way);
    ways++;
    spent += followed.steps;
    return { way, followed };
  };
  const start = new UniformWay();
  const first: Seen<F> = { way: start, followed: follow(start) };
  if (countWays(first.way) <= fewWays) return worstOf(first, allWays(first.way), look).way;
  const factors = factorsOf(first, [...first.way.options.keys()], look);
  const steps = first.followed.peaks
    .map((bytes, step) => ({ step, bytes: bytes + highest(factors, step) }))
    .sort((a, b) => b.bytes - a.bytes);
  let worst = first;
  let addsUp = true;
  const tried = new Set<string>();
  for (const { step, bytes } of steps) {
    if (bytes <= worst.followed.peakBytes || tried.size === mostCandidates) break;
    const chosen = new Map<ProgramOp, number>();
    chooseHighest(factors, step, chosen);
    const key = [...chosen.values()].join();
    if (tried.has(key)) continue;
    tried.add(key);
    const candidate = look(new UniformWay(chosen));
    if (!candidate) break;
    if (candidate.followed.peakBytes > worst.followed.peakBytes) worst = candidate;
    addsUp &&= candidate.followed.peaks[step] === bytes;
  }
  for (let improves = !addsUp; improves; ) {
    const better = worstNeighbour(worst, look);
    improves = better !== worst;
    worst = better;
  }
  return worst.way;
}

/** `from`: what was seen with the same decisions but for that of one op. Null: it is enough. */
type Look<F extends Followed> = (
  way: UniformWay,
  from?: Seen<F>,
  but?: ProgramOp,
) => Seen<F> | null;

function countWays({ options }: UniformWay): number {
  return [...options.values()].reduce((all, { length }) => all * length, 1);
}

function worstOf<F extends Followed>(
  first: Seen<F>,
  ways: Iterable<UniformWay>,
  look: Look<F>,
): Seen<F> {
  let worst = first;
  for (const way of ways) {
    const other = look(way);
    if (!other) break;
    if (other.followed.peakBytes > worst.followed.peakBytes) worst = other;
  }
  return worst;
}

/** Of a way and those with one other decision. */
function worstNeighbour<F extends Followed>(from: Seen<F>, look: Look<F>): Seen<F> {
  let worst = from;
  for (const [op, options] of from.way.options) {
    for (const decision of options) {
      if (decision === from.way.chosen.get(op)) continue;
      const other = look(from.way.with(op, decision), from, op);
      if (!other) return worst;
      if (other.followed.peakBytes > worst.followed.peakBytes) worst = other;
    }
  }
  return worst;
}

/** All but the given one. What is met on some ways only decides there by default, then in turn. */
function* allWays(from: UniformWay, settled = new Set<ProgramOp>()): Generator<UniformWay> {
  const open = [...from.options].find(([op]) => !settled.has(op));
  if (!open) return;
  const [op, options] = open;
  const fixed = new Set(settled).add(op);
  for (const decision of options) {
    const way = decision === from.chosen.get(op) ? from : from.with(op, decision);
    if (way !== from) yield way;
    yield* allWays(way, fixed);
  }
}

/** Of the ops that a way has met: each other decision is followed by itself. */
function factorsOf<F extends Followed>(
  from: Seen<F>,
  ops: readonly ProgramOp[],
  look: Look<F>,
): Factor[] {
  const others = new Map<ProgramOp, Seen<F>[]>();
  for (const op of ops) {
    const options = from.way.options.get(op)!;
    const rest = options.filter((decision) => decision !== from.way.chosen.get(op));
    others.set(
      op,
      rest.flatMap((decision) => look(from.way.with(op, decision), from, op) ?? []),
    );
  }
  const outer = innermostOuter(ops, others);
  const factorOf = (op: ProgramOp): Factor => ({
    op,
    options: [
      {
        decision: from.way.chosen.get(op)!,
        raises: from.followed.peaks.map(() => 0),
        inner: ops.filter((each) => outer.get(each) === op).map(factorOf),
      },
      ...others.get(op)!.map((other) => ({
        decision: other.way.chosen.get(op)!,
        raises: other.followed.peaks.map((bytes, step) => bytes - from.followed.peaks[step]!),
        inner: factorsOf(
          other,
          [...other.way.options.keys()].filter((each) => !from.way.options.has(each)),
          look,
        ),
      })),
    ],
  });
  return ops.filter((op) => !outer.has(op)).map(factorOf);
}

/** An op that isn't met when another decides otherwise is inside of it. */
function innermostOuter(
  ops: readonly ProgramOp[],
  others: ReadonlyMap<ProgramOp, readonly { readonly way: UniformWay }[]>,
): Map<ProgramOp, ProgramOp> {
  const inside = ops.map((op) => {
    const ways = others.get(op)!;
    return ops.filter((each) => ways.some(({ way }) => !way.options.has(each)));
  });
  const outer = new Map<ProgramOp, ProgramOp>();
  for (const op of ops) {
    const around = ops
      .map((each, i) => ({ each, inner: inside[i]! }))
      .filter(({ inner }) => inner.includes(op))
      .sort((a, b) => a.inner.length - b.inner.length)[0];
    if (around) outer.set(op, around.each);
  }
  return outer;
}

/** By how much the decisions can raise the bytes of a step, together. */
function highest(factors: readonly Factor[], step: number): number {
  let sum = 0;
  for (const { options } of factors) {
    sum += Math.max(...options.map((option) => raiseOf(option, step)));
  }
  return sum;
}

const raiseOf = ({ raises, inner }: Option, step: number): number =>
  raises[step]! + highest(inner, step);

function chooseHighest(
  factors: readonly Factor[],
  step: number,
  chosen: Map<ProgramOp, number>,
): void {
  for (const { op, options } of factors) {
    const best = options.reduce((a, b) => (raiseOf(b, step) > raiseOf(a, step) ? b : a));
    chosen.set(op, best.decision);
    chooseHighest(best.inner, step, chosen);
  }
}
