import type { Plan } from '../../../runtime/program/plan.ts';
import type { ProgramOp, ValueTable } from '../../../runtime/program/program.ts';
import {
  type EnteringAlone,
  highest,
  SimulatedRun,
} from '../../../runtime/run-program/simulate/simulated-run.ts';
import type { Snapshot } from '../../../runtime/run-program/simulate/snapshot.ts';
import type { UniformPath } from './uniform-path.ts';
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
  readonly decisions: ReadonlyMap<number, Decision>;
  /** The step that runs each op, directly or in a region of it, if the op makes a decision there. */
  readonly stepOf: ReadonlyMap<ProgramOp, number>;
}

/**
 * Simulates a forward plan on many paths. A path that differs from a simulated one in a single decision is
 * simulated from the step that makes the decision, and only that step if it leaves the same memory.
 */
export function forwardPaths(
  plan: Plan,
  values: ValueTable,
  entering: EnteringAlone,
): SimulatePath<SimulatedForward> {
  return (path, like) => {
    const at = like?.simulated.stepOf.get(like.but);
    const decision = at === undefined ? undefined : like!.simulated.decisions.get(at);
    return decision ? simulateFrom(path, like!.simulated, at!, decision) : simulateAll(path);
  };

  function simulateAll(path: UniformPath): SimulatedForward {
    const run = new SimulatedRun(values, path);
    const donatedBytes = run.enter(plan, entering);
    const start = run.live - donatedBytes;
    const stepOf = new Map<ProgramOp, number>();
    const decisions = new Map<number, Decision>();
    const peaks = plan.steps.map((step, i) => {
      const decides = step.op.op.kernel.kind === 'control';
      const before = decides ? run.snapshot() : null;
      const peak = run.peakOf(plan, i);
      if (before) {
        decisions.set(i, { before, after: run.memoryKey });
        for (const op of path.options.keys()) if (!stepOf.has(op)) stepOf.set(op, i);
      }
      return peak - donatedBytes;
    });
    const { steps } = run;
    run.end();
    return {
      path,
      peaks,
      peakBytes: highest(start, peaks),
      start,
      donatedBytes,
      steps,
      stepOf,
      decisions,
    };
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
    const run = new SimulatedRun(values, path, before);
    const { start, donatedBytes } = other;
    const peaks = [...other.peaks];
    peaks[at] = run.peakOf(plan, at) - donatedBytes;
    const stepOf = new Map(other.stepOf);
    for (const op of path.options.keys()) if (!stepOf.has(op)) stepOf.set(op, at);
    const key = run.memoryKey;
    if (key === after) meet((step) => step > at);
    else {
      for (let step = at + 1; step < plan.steps.length; step++) {
        peaks[step] = run.peakOf(plan, step) - donatedBytes;
      }
    }
    const decisions = new Map([[at, { before, after: key }]]);
    const { steps } = run;
    run.end();
    return {
      path,
      peaks,
      peakBytes: highest(start, peaks),
      start,
      donatedBytes,
      steps,
      stepOf,
      decisions,
    };
  }
}
