/** The bytes of plans, counted when they are first read: first calls read few, and references in check mode none. */

import type { PeakLimit, Plan, PredictedMemory } from '../../runtime/program/plan.ts';
import { type RunBytes, SimulatedRun } from '../../runtime/run-program/simulate/simulated-run.ts';
import { once } from '../programs/once.ts';
import { type Simulatable, simulate } from './control/simulate-plan.ts';
import { UniformPath } from './control/uniform-path.ts';
import { WorstCase } from './control/worst-case.ts';
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
  // A backward doesn't count its saved values again.
  const saved = simulatable.after ? plan.predicted.savedBytes : null;
  return withBytes(planned, counted, lowerBound, () => [], saved);
}

function countedBytes(plan: Plan, simulatable: Simulatable): RunBytes {
  const run = new SimulatedRun(simulatable.values, new UniformPath());
  const bytes = simulate(run, plan, simulatable);
  run.end();
  return bytes;
}

/** A plan with control ops, and its bytes on their paths. */
export interface PlanWithControl {
  readonly planned: Planned;
  readonly bytes: WorstCase;
}

export function withControl(
  planned: Planned,
  simulatable: Simulatable,
  isFirst = false,
): PlanWithControl {
  return { planned, bytes: new WorstCase(planned.plan, simulatable, isFirst) };
}

/**
 * Replaces the estimated bytes by the bytes of the worst path. The bytes of kept tapes remain estimates: they only
 * guide the order of the program that continues with them.
 */
export function predictedOnWorstPath(
  { planned, bytes }: PlanWithControl,
  lowerBound: () => number,
): Planned {
  const kept = new Map(planned.kept);
  for (const { op } of planned.plan.steps) {
    const tape = op.outputs.at(-1);
    if ((op.regions || op.call) && tape !== undefined && kept.has(tape)) {
      kept.set(
        tape,
        storageOfTape(() => bytes.estimate.tapes.get(tape) ?? 0),
      );
    }
  }
  return withBytes(
    { ...planned, kept },
    () => bytes.worst.bytes,
    lowerBound,
    () => bytes.mayExceed,
  );
}

const storageOfTape = (bytes: () => number): Storage => ({
  get bytes() {
    return bytes();
  },
  exclusive: false,
  owners: 1,
  isTape: true,
});

function withBytes(
  planned: Planned,
  counted: () => RunBytes,
  lowerBound: () => number,
  mayExceed: () => readonly PeakLimit[],
  saved: number | null = null,
): Planned {
  const { plan, donatedBytes } = planned;
  const predicted: PredictedMemory = {
    copiedBytes: 0,
    get peakBytes() {
      return counted().peakBytes;
    },
    get mayExceed() {
      return mayExceed();
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

/** Adds the bytes of the caller's memory that a run copies because it writes to it. */
export const withCopiedBytes = (
  planned: PredictedMemory,
  copiedBytes: number,
): PredictedMemory => ({
  copiedBytes,
  get peakBytes() {
    return planned.peakBytes + copiedBytes;
  },
  get mayExceed() {
    return planned.mayExceed ?? [];
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
