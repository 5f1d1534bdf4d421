import { TensorList } from '../../../runtime/device/tensor-list.ts';
import type { Plan } from '../../../runtime/program/plan.ts';
import type { ProgramOp, ValueTable } from '../../../runtime/program/program.ts';
import type { EnteringAlone } from '../../../runtime/run-program/simulate/simulated-run.ts';
import { currentSimulation } from '../../../runtime/run-program/simulate/simulation.ts';
import { memoryKey, type Snapshot } from '../../../runtime/run-program/simulate/snapshot.ts';
import { DecidedPath } from './decided-path.ts';
import { ResumableRun } from './resumable-run.ts';
import type { UniformPath } from './uniform-path.ts';

/** The first decisions of a path, followed by those of a uniform path. */
export type Decisions = readonly number[];

export interface Explored {
  /** The highest bytes on a simulated path, without donated inputs, and its decisions up to that point. */
  readonly peakBytes: number;
  readonly decisions: Decisions;
  /** A path to each memory state that forward can end with. */
  readonly ends: readonly Decisions[];
  /** Whether the simulated paths cover the memory states of all paths at each step. */
  readonly isComplete: boolean;
  /** Whether a list grows with the iterations of a loop. */
  readonly isGrowing: boolean;
}

/** The memory state before a step, and a path to it. */
interface PendingPath {
  readonly step: number;
  readonly memory: Snapshot | null;
  readonly decisions: Decisions;
}

/** The number of iterations to simulate of a loop in which a list grows. */
const iterationsOfGrowing = 3;

/**
 * Simulates a forward plan on every path, including those where a control op decides differently each time it runs. Two
 * paths that reach the same memory state need the same bytes from there on: each decision is tried once per memory
 * state, so a loop ends once its iterations reach no new one. `mostSteps`: the number of steps to simulate.
 */
export function explorePaths(
  plan: Plan,
  values: ValueTable,
  entering: EnteringAlone,
  base: UniformPath,
  mostSteps: number,
): Explored {
  let [peakBytes, donatedBytes, spent] = [Number.NEGATIVE_INFINITY, 0, 0];
  let isGrowing = false;
  let worst: Decisions = [];
  const ends = new Map<string, Decisions>();
  const seen = new Set<string>();
  const reached: PendingPath[] = [{ step: 0, memory: null, decisions: [] }];
  const notePeak = (bytes: number, decisions: Decisions) => {
    if (bytes - donatedBytes <= peakBytes) return;
    peakBytes = bytes - donatedBytes;
    worst = decisions;
  };
  for (let next = reached.pop(); next && spent < mostSteps; next = reached.pop()) exploreFrom(next);
  const isComplete = spent < mostSteps;
  return { peakBytes, decisions: worst, ends: [...ends.values()], isComplete, isGrowing };

  /** Runs up to a step that decides, and queues its outcomes. */
  function exploreFrom({ step: from, memory, decisions }: PendingPath): void {
    const run = new ResumableRun(values, base, memory ?? undefined, true);
    if (!memory) {
      donatedBytes = run.enter(plan, entering);
      notePeak(run.live, decisions);
    }
    let step = from;
    for (; step < plan.steps.length && !decides(plan, step); step++) {
      notePeak(run.peakOf(plan, step), decisions);
    }
    spent += run.steps;
    const key = `${step} ${run.memoryKey}`;
    if (step === plan.steps.length) {
      if (!ends.has(key)) ends.set(key, decisions);
    } else if (!seen.has(key)) {
      seen.add(key);
      outcomes(step, run.moveOut(), decisions);
      return;
    }
    run.end();
  }

  /** Runs one step on all paths inside it. */
  function outcomes(step: number, before: Snapshot, decisions: Decisions): void {
    const known = new Set<string>();
    const after = new Set<string>();
    const open: Decisions[] = [[]];
    for (let next = open.pop(); next && spent < mostSteps; next = open.pop()) {
      const path = new ExploringPath(next, base, known, open);
      const run = new ResumableRun(values, path, before);
      const isNew = isCompleted(() => run.peakOf(plan, step));
      spent += run.steps;
      isGrowing ||= path.isGrowing;
      const allDecisions = [...decisions, ...path.made];
      notePeak(run.peak, allDecisions);
      const key = isNew ? run.memoryKey : null;
      if (key === null || after.has(key)) {
        run.end();
        continue;
      }
      after.add(key);
      reached.push({ step: step + 1, memory: run.moveOut(), decisions: allDecisions });
    }
  }
}

function decides({ steps }: Plan, step: number): boolean {
  const { regions, call } = steps[step]!;
  return regions !== undefined || call !== undefined;
}

/** Thrown where a path reaches the memory state of another path: both continue identically. */
class PathsConverge extends Error {}

/** Returns whether a path runs to its end. */
function isCompleted(run: () => void): boolean {
  try {
    run();
    return true;
  } catch (error) {
    if (error instanceof PathsConverge) return false;
    throw error;
  }
}

/** A path that records which other decisions are possible in memory states that no path has reached before. */
class ExploringPath extends DecidedPath {
  /** Whether a loop was ended because a list grows in it. */
  isGrowing = false;
  readonly #known: Set<string>;
  readonly #open: Decisions[];

  constructor(decisions: Decisions, base: UniformPath, known: Set<string>, open: Decisions[]) {
    super(decisions, base);
    this.#known = known;
    this.#open = open;
  }

  protected override limit(): (done: number) => boolean {
    let now = 0;
    return (done) => {
      const before = now;
      now = itemCount();
      const mayContinue = done < iterationsOfGrowing || now <= before;
      this.isGrowing ||= !mayContinue;
      return mayContinue;
    };
  }

  protected override open(op: ProgramOp, others: readonly number[]): void {
    const { around, entered, live } = currentSimulation();
    const key = `${around.map((each) => numberOf(each.op)).join()},${numberOf(op)} ${live} ${memoryKey(...around.map(({ slots }) => slots), entered)}`;
    if (this.#known.has(key)) throw new PathsConverge();
    this.#known.add(key);
    for (const other of others) this.#open.push([...this.made, other]);
  }
}

/** Returns the number of elements of all live lists. */
function itemCount(): number {
  const { around, entered } = currentSimulation();
  let count = 0;
  for (const slots of [...around.map((each) => each.slots), entered]) {
    for (const { holder } of slots) if (holder instanceof TensorList) count += holder.items.length;
  }
  return count;
}

const numbers = new WeakMap<ProgramOp, number>();
let next = 0;

function numberOf(op: ProgramOp): number {
  const known = numbers.get(op) ?? next++;
  numbers.set(op, known);
  return known;
}
