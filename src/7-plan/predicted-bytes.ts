/** The bytes of plans. They are counted when they are first read: first calls read few, references of checks none. */

import type { Plan, PredictedMemory } from '../../runtime/program/plan.ts';
import { type RunBytes, SimulatedRun } from '../../runtime/run-program/simulate/simulated-run.ts';
import { once } from '../programs/once.ts';
import { type Simulatable, simulate, type WorstCase, worstCase } from './control/control-memory.ts';
import { UniformPath } from './control/uniform-path.ts';
import type { Storage } from './order/storages.ts';
import type { Planned } from './plan-in-order.ts';

/** Replaces the estimated bytes by those that the executor counts on counting devices. */
export function predictedInOrder(
  planned: Planned,
  lowerBound: () => number,
  simulatable: Simulatable,
): Planned {
  const { plan } = planned;
  const counted = once(() => countedBytes(plan, simulatable));
  // For a backward these are the saved values, which the run doesn't count again.
  const saved = simulatable.after ? plan.predicted.savedBytes : null;
  return withBytes(planned, counted, lowerBound, saved);
}

function countedBytes(plan: Plan, simulatable: Simulatable): RunBytes {
  const run = new SimulatedRun(simulatable.values, new UniformPath());
  const bytes = simulate(run, plan, simulatable);
  run.end();
  return bytes;
}

/** A plan with control ops, and the simulation of its worst path. */
export interface PlanOnWorstPath {
  readonly planned: Planned;
  readonly worst: () => WorstCase;
}

export function onWorstPath(planned: Planned, simulatable: Simulatable): PlanOnWorstPath {
  return { planned, worst: once(() => worstCase(planned.plan, simulatable)) };
}

/** Replaces the estimated bytes, also those of kept tapes, by the ones that the worst path needs. */
export function predictedOnWorstPath(
  { planned, worst }: PlanOnWorstPath,
  lowerBound: () => number,
): Planned {
  const kept = new Map(planned.kept);
  for (const { op } of planned.plan.steps) {
    const tape = op.outputs.at(-1);
    if ((op.regions || op.call) && tape !== undefined && kept.has(tape)) {
      kept.set(
        tape,
        storageOfTape(() => worst().tapes.get(tape) ?? 0),
      );
    }
  }
  return withBytes({ ...planned, kept }, () => worst().bytes, lowerBound);
}

const storageOfTape = (bytes: () => number): Storage => ({
  get bytes() {
    return bytes();
  },
  exclusive: false,
  owners: 1,
});

function withBytes(
  planned: Planned,
  counted: () => RunBytes,
  lowerBound: () => number,
  saved: number | null = null,
): Planned {
  const { plan, donatedBytes } = planned;
  const predicted: PredictedMemory = {
    copiedBytes: 0,
    get peakBytes() {
      return counted().peakBytes;
    },
    // A rewritten program may need less than any order of the original ops.
    get lowerBoundBytes() {
      return Math.min(lowerBound() - donatedBytes, counted().peakBytes);
    },
    get savedBytes() {
      return saved ?? counted().savedBytes;
    },
    get outputBytes() {
      return counted().outputBytes;
    },
  };
  return { ...planned, plan: { ...plan, predicted } };
}

/** The bytes of a plan whose run first copies memory of the caller that it writes to. */
export const withCopiedBytes = (
  planned: PredictedMemory,
  copiedBytes: number,
): PredictedMemory => ({
  copiedBytes,
  get peakBytes() {
    return planned.peakBytes + copiedBytes;
  },
  get lowerBoundBytes() {
    return planned.lowerBoundBytes + copiedBytes;
  },
  get savedBytes() {
    return planned.savedBytes;
  },
  get outputBytes() {
    return planned.outputBytes;
  },
});
