import type { ProgramOp } from '../../../runtime/program/program.ts';
import { UniformPath } from './uniform-path.ts';

/** A simulated run. */
export interface SimulatedPath {
  readonly peakBytes: number;
  /** The highest live bytes during each step; all paths start from the same number of bytes. */
  readonly peaks: readonly number[];
  /** The number of simulated steps; steps of regions count each time they run. */
  readonly steps: number;
}

/** Simulates a run on a path. `like`: a simulated path that differs in one op's decision. */
export type SimulatePath<F extends SimulatedPath = SimulatedPath> = (
  path: UniformPath,
  like?: { readonly simulated: F; readonly but: ProgramOp },
) => F;

interface TriedPath<F extends SimulatedPath> {
  readonly path: UniformPath;
  readonly simulated: F;
}

/** A control op, with the bytes that each of its decisions adds to each step. */
interface Factor {
  readonly op: ProgramOp;
  readonly options: readonly Option[];
}

interface Option {
  readonly decision: number;
  readonly raises: readonly number[];
  /** Control ops that are reached only with this decision. */
  readonly inner: readonly Factor[];
}

/** The most steps to simulate for all paths of a plan; a few paths are simulated in any case. */
const mostSteps = 200_000;
/** Up to this number of paths, all are tried. */
export const fewPaths = 8;
/** With more paths, this many of the ones expected to be worst are simulated. */
const mostCandidates = 4;

/** A path and its peak. */
export interface WorstPath {
  readonly path: UniformPath;
  readonly peakBytes: number;
}

/**
 * Returns the path with the highest peak.
 *
 * The bytes that a decision adds to a step depend on other decisions only if paths share memory. So each decision is
 * simulated by itself, the highest bytes of each step are estimated from the results, and the paths with the highest
 * estimates are simulated. If an estimate is wrong, neighbors of the worst path so far are tried as well.
 */
export function worstPath<F extends SimulatedPath>(simulate: SimulatePath<F>): WorstPath {
  const { path, simulated } = worstSeen(simulate);
  return { path, peakBytes: simulated.peakBytes };
}

function worstSeen<F extends SimulatedPath>(simulate: SimulatePath<F>): TriedPath<F> {
  let [paths, spent] = [0, 0];
  const look: TryPath<F> = (path, from, but) => {
    if (spent >= mostSteps && paths >= fewPaths) return null;
    const simulated = from
      ? simulate(path, { simulated: from.simulated, but: but! })
      : simulate(path);
    paths++;
    spent += simulated.steps;
    return { path, simulated };
  };
  const start = new UniformPath();
  const first: TriedPath<F> = { path: start, simulated: simulate(start) };
  if (countPaths(first.path) <= fewPaths) return worstOf(first, allPaths(first.path), look);
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
  return worst;
}

/** `from`: a simulated path that differs in the decision of one op. Returns null if no more paths are tried. */
type TryPath<F extends SimulatedPath> = (
  path: UniformPath,
  from?: TriedPath<F>,
  but?: ProgramOp,
) => TriedPath<F> | null;

export function countPaths({ options }: UniformPath): number {
  return [...options.values()].reduce((all, { length }) => all * length, 1);
}

function worstOf<F extends SimulatedPath>(
  first: TriedPath<F>,
  paths: Iterable<UniformPath>,
  look: TryPath<F>,
): TriedPath<F> {
  let worst = first;
  for (const path of paths) {
    const other = look(path);
    if (!other) break;
    if (other.simulated.peakBytes > worst.simulated.peakBytes) worst = other;
  }
  return worst;
}

/** Returns the worst of a path and its neighbors, which differ from it in one decision. */
function worstNeighbour<F extends SimulatedPath>(
  from: TriedPath<F>,
  look: TryPath<F>,
): TriedPath<F> {
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

/**
 * Yields all paths except the given one. Decisions reached only on some paths take their default first, then each other
 * outcome.
 */
function* allPaths(from: UniformPath, settled = new Set<ProgramOp>()): Generator<UniformPath> {
  for (const [op, options] of from.options) {
    if (settled.has(op)) continue;
    const fixed = new Set(settled).add(op);
    for (const decision of options) {
      const path = decision === from.chosen.get(op) ? from : from.with(op, decision);
      if (path !== from) yield path;
      yield* allPaths(path, fixed);
    }
    return;
  }
}

/** Returns the factors of the ops on a path, simulating each alternative decision by itself. */
function factorsOf<F extends SimulatedPath>(
  from: TriedPath<F>,
  ops: readonly ProgramOp[],
  look: TryPath<F>,
): Factor[] {
  const others = new Map<ProgramOp, TriedPath<F>[]>();
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

/** An op that isn't reached if another op decides otherwise is nested in it. */
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

/** Returns the most bytes that the decisions together can add to a step. */
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
