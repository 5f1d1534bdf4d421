import type { Plan } from '../../../runtime/program/plan.ts';
import type { ProgramOp, ValueTable } from '../../../runtime/program/program.ts';
import {
  type EnteringAlone,
  highest,
} from '../../../runtime/run-program/simulate/simulated-run.ts';
import type { Snapshot } from '../../../runtime/run-program/simulate/snapshot.ts';
import { ResumableRun } from './resumable-run.ts';
import { UniformPath } from './uniform-path.ts';
import type { SimulatedPath, SimulatePath } from './worst-path.ts';

/** A step that makes a decision: the memory before it, and a key for the memory after it. */
interface Decision {
  readonly before: Snapshot;
  readonly after: string;
}

interface SimulatedForward extends SimulatedPath {
  readonly path: UniformPath;
  /** Live bytes at the start, without donated inputs. */
  readonly start: number;
  readonly donatedBytes: number;
  readonly decisionAt: (step: number) => Decision | undefined;
  /** The step that runs each op, directly or in a region of it, if the op makes a decision there. */
  readonly stepOf: ReadonlyMap<ProgramOp, number>;
}

/**
 * Simulates a forward plan on many paths. A path that differs from a simulated one in a single decision is simulated
 * from the step that makes it, until both paths have the same memory after a decision.
 */
export function forwardPaths(
  plan: Plan,
  values: ValueTable,
  entering: EnteringAlone,
): SimulatePath<SimulatedForward> {
  return (path, like) => {
    const at = like?.simulated.stepOf.get(like.but);
    const decision = at === undefined ? undefined : like!.simulated.decisionAt(at);
    return decision ? simulateFrom(path, like!.simulated, at!, decision) : simulateAll(path);
  };

  function simulateAll(path: UniformPath): SimulatedForward {
    const run = new ResumableRun(values, path);
    const donatedBytes = run.enter(plan, entering);
    const start = run.live - donatedBytes;
    const stepOf = new Map<ProgramOp, number>();
    const peaks = plan.steps.map((_, i) => {
      const peak = run.peakOf(plan, i);
      if (path.options.size > stepOf.size) noteStep(stepOf, path, i);
      return peak - donatedBytes;
    });
    const { steps } = run;
    run.end();
    const decisionAt = decisionsOf(path, stepOf);
    const peakBytes = highest(start, peaks);
    return { path, peaks, peakBytes, start, donatedBytes, steps, stepOf, decisionAt };
  }

  /** Memory is copied only when another path is simulated from a decision. */
  function decisionsOf(
    { chosen }: UniformPath,
    stepOf: ReadonlyMap<ProgramOp, number>,
  ): SimulatedForward['decisionAt'] {
    let decisions: Map<number, Decision> | null = null;
    return (step) => {
      decisions ??= simulateDecisions();
      return decisions.get(step);
    };

    function simulateDecisions(): Map<number, Decision> {
      const found = new Map<number, Decision>();
      const deciding = new Set(stepOf.values());
      const run = new ResumableRun(values, new UniformPath(chosen));
      run.enter(plan, entering);
      for (let step = 0; found.size < deciding.size; step++) {
        const before = deciding.has(step) ? run.snapshot() : null;
        run.peakOf(plan, step);
        if (before) found.set(step, { before, after: run.memoryKey });
      }
      run.end();
      return found;
    }
  }

  function simulateFrom(
    path: UniformPath,
    other: SimulatedForward,
    at: number,
    { before, after }: Decision,
  ): SimulatedForward {
    const meet = (isMet: (step: number) => boolean) => {
      for (const [op, options] of other.path.options) {
        if (isMet(other.stepOf.get(op) ?? Number.POSITIVE_INFINITY)) path.options.set(op, options);
      }
    };
    meet((step) => step < at);
    const run = new ResumableRun(values, path, before);
    const { start, donatedBytes } = other;
    const peaks = [...other.peaks];
    peaks[at] = run.peakOf(plan, at) - donatedBytes;
    const stepOf = new Map(other.stepOf);
    noteStep(stepOf, path, at);
    const taken: Decision = { before, after: run.memoryKey };
    let last = at;
    // Where both paths have the same memory, later steps have the same bytes.
    let differs = taken.after !== after;
    while (differs && ++last < plan.steps.length) {
      peaks[last] = run.peakOf(plan, last) - donatedBytes;
      const known = other.decisionAt(last);
      differs = !known || run.memoryKey !== known.after;
    }
    meet((step) => step > last);
    const { steps } = run;
    run.end();
    const others = decisionsOf(path, stepOf);
    const decisionAt = (step: number) => (step === at ? taken : others(step));
    const peakBytes = highest(start, peaks);
    return { path, peaks, peakBytes, start, donatedBytes, steps, stepOf, decisionAt };
  }
}

/** Records the step of ops that have decided for the first time. */
function noteStep(stepOf: Map<ProgramOp, number>, { options }: UniformPath, step: number): void {
  for (const op of options.keys()) if (!stepOf.has(op)) stepOf.set(op, step);
}
