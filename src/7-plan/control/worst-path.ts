import type { ProgramOp } from '../../../runtime/program/program.ts';
import { UniformPath } from './uniform-path.ts';

/** A run that was simulated. */
export interface SimulatedPath {
  readonly peakBytes: number;
  /** The highest live bytes during each step, from one start for all paths. */
  readonly peaks: readonly number[];
  /** So many steps were simulated for it, those of regions each time that they ran. */
  readonly steps: number;
}

/** Simulates a run on a path. `like`: one that was simulated, and decides the same but for one op. */
export type SimulatePath<F extends SimulatedPath = SimulatedPath> = (
  path: UniformPath,
  like?: { readonly simulated: F; readonly but: ProgramOp },
) => F;

interface Seen<F extends SimulatedPath> {
  readonly path: UniformPath;
  readonly simulated: F;
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

/** So many steps are simulated for one plan, all its paths together, but a few paths are in any case. */
const mostSteps = 200_000;
/** So many paths are all tried. */
const fewPaths = 8;
/** Among more paths, this many of those that should be the worst are simulated. */
const mostCandidates = 4;

/**
 * The path with the highest peak.
 *
 * What a decision adds to the bytes of a step doesn't depend on the other decisions, but where paths share
 * memory. So each decision is simulated by itself, the highest bytes of each step are put together from
 * these, and the paths that should have the highest steps are simulated as they are. Where the sum is not
 * what was simulated, paths that differ from the worst known one in one decision are tried as well.
 */
export function worstPath<F extends SimulatedPath>(simulate: SimulatePath<F>): UniformPath {
  let [paths, spent] = [0, 0];
  const look: Look<F> = (path, from, but) => {
    if (spent >= mostSteps && paths >= fewPaths) return null;
    const simulated = from
      ? simulate(path, { simulated: from.simulated, but: but! })
      : simulate(path);
    paths++;
    spent += simulated.steps;
    return { path, simulated };
  };
  const start = new UniformPath();
  const first: Seen<F> = { path: start, simulated: simulate(start) };
  if (countPaths(first.path) <= fewPaths) return worstOf(first, allPaths(first.path), look).path;
  const factors = factorsOf(first, [...first.path.options.keys()], look);
  const steps = first.simulated.peaks
    .map((bytes, step) => ({ step, bytes: bytes + highest(factors, step) }))
    .sort((a, b) => b.bytes - a.bytes);
  let worst = first;
  let addsUp = true;
  const tried = new Set<string>();
  for (const { step, bytes } of steps) {
    if (bytes <= worst.simulated.peakBytes || tried.size === mostCandidates) break;
    const chosen = new Map<ProgramOp, number>();
    chooseHighest(factors, step, chosen);
    const key = [...chosen.values()].join();
    if (tried.has(key)) continue;
    tried.add(key);
    const candidate = look(new UniformPath(chosen));
    if (!candidate) break;
    if (candidate.simulated.peakBytes > worst.simulated.peakBytes) worst = candidate;
    addsUp &&= candidate.simulated.peaks[step] === bytes;
  }
  for (let improves = !addsUp; improves; ) {
    const better = worstNeighbour(worst, look);
    improves = better !== worst;
    worst = better;
  }
  return worst.path;
}

/** `from`: what was seen with the same decisions but for that of one op. Null: it is enough. */
type Look<F extends SimulatedPath> = (
  path: UniformPath,
  from?: Seen<F>,
  but?: ProgramOp,
) => Seen<F> | null;

function countPaths({ options }: UniformPath): number {
  return [...options.values()].reduce((all, { length }) => all * length, 1);
}

function worstOf<F extends SimulatedPath>(
  first: Seen<F>,
  paths: Iterable<UniformPath>,
  look: Look<F>,
): Seen<F> {
  let worst = first;
  for (const path of paths) {
    const other = look(path);
    if (!other) break;
    if (other.simulated.peakBytes > worst.simulated.peakBytes) worst = other;
  }
  return worst;
}

/** Returns the worst of a path and the paths with one other decision. */
function worstNeighbour<F extends SimulatedPath>(from: Seen<F>, look: Look<F>): Seen<F> {
  let worst = from;
  for (const [op, options] of from.path.options) {
    for (const decision of options) {
      if (decision === from.path.chosen.get(op)) continue;
      const other = look(from.path.with(op, decision), from, op);
      if (!other) return worst;
      if (other.simulated.peakBytes > worst.simulated.peakBytes) worst = other;
    }
  }
  return worst;
}

/** All but the given one. Decisions that only some paths reach take their default there first, then each other outcome. */
function* allPaths(from: UniformPath, settled = new Set<ProgramOp>()): Generator<UniformPath> {
  const open = [...from.options].find(([op]) => !settled.has(op));
  if (!open) return;
  const [op, options] = open;
  const fixed = new Set(settled).add(op);
  for (const decision of options) {
    const path = decision === from.chosen.get(op) ? from : from.with(op, decision);
    if (path !== from) yield path;
    yield* allPaths(path, fixed);
  }
}

/** Returns the factors of the ops that a path has met: each other decision is simulated by itself. */
function factorsOf<F extends SimulatedPath>(
  from: Seen<F>,
  ops: readonly ProgramOp[],
  look: Look<F>,
): Factor[] {
  const others = new Map<ProgramOp, Seen<F>[]>();
  for (const op of ops) {
    const options = from.path.options.get(op)!;
    const rest = options.filter((decision) => decision !== from.path.chosen.get(op));
    others.set(
      op,
      rest.flatMap((decision) => look(from.path.with(op, decision), from, op) ?? []),
    );
  }
  const outer = innermostOuter(ops, others);
  const factorOf = (op: ProgramOp): Factor => ({
    op,
    options: [
      {
        decision: from.path.chosen.get(op)!,
        raises: from.simulated.peaks.map(() => 0),
        inner: ops.filter((each) => outer.get(each) === op).map(factorOf),
      },
      ...others.get(op)!.map((other) => ({
        decision: other.path.chosen.get(op)!,
        raises: other.simulated.peaks.map((bytes, step) => bytes - from.simulated.peaks[step]!),
        inner: factorsOf(
          other,
          [...other.path.options.keys()].filter((each) => !from.path.options.has(each)),
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
  others: ReadonlyMap<ProgramOp, readonly { readonly path: UniformPath }[]>,
): Map<ProgramOp, ProgramOp> {
  const inside = ops.map((op) => {
    const paths = others.get(op)!;
    return ops.filter((each) => paths.some(({ path }) => !path.options.has(each)));
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
