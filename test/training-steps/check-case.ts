/** One training case under some memory options, against eager execution. */

import { expect } from 'vitest';
import { type AppliedCounts, appliedTo, type MemoryChoice } from '../../src/index.ts';
import { memorySwitches } from '../../src/programs/memory-options.ts';
import { differences, mispredicted, type Outcome, runSteps } from './run-steps.ts';
import type { TrainingCase } from './training-case.ts';

const presets = ['cleaned', 'inputsCleaned', 'beforeUnusedValues'] as const;

/** Shares of the bytes that a plan without a budget takes. */
const budgetShares = [0, 0.6, 0.85] as const;

/** The next options, of which successive rounds see all. */
function choicesFor(round: number, peakBytes: number): MemoryChoice[] {
  return [
    { [memorySwitches[round % memorySwitches.length]!]: false },
    presets[round % presets.length]!,
    { budget: Math.floor(peakBytes * budgetShares[round % budgetShares.length]!) },
  ];
}

export type Tally = Map<keyof AppliedCounts, number>;

/** In how many of the cases each optimisation was applied at all. */
export function share(tally: Tally, name: keyof AppliedCounts, cases: number): number {
  return (tally.get(name) ?? 0) / cases;
}

/**
 * Throws, naming the case and how to run it again, unless all runs have the bits of eager execution. Returns the
 * optimisations that were applied.
 */
export function checkCase(
  given: TrainingCase,
  round: number,
  tally: Tally,
): ReadonlySet<keyof AppliedCounts> {
  const eager = runSteps(given, null);
  const own = checkChoice(given, eager, {});
  const counts = own.parts.flatMap((part) => appliedTo(part) ?? []);
  const peaks = own.parts.map(({ record }) => record.peakBytes ?? 0);
  const seen = new Set<keyof AppliedCounts>();
  const note = (all: readonly AppliedCounts[]) => {
    for (const each of all) {
      for (const [name, count] of Object.entries(each) as [keyof AppliedCounts, number][]) {
        if (count > 0) seen.add(name);
      }
    }
  };
  note(counts);
  for (const choice of choicesFor(round, Math.max(...peaks))) {
    const other = checkChoice(given, eager, choice);
    if (typeof choice === 'object' && 'budget' in choice) {
      note(other.parts.flatMap((part) => appliedTo(part) ?? []));
    }
  }
  for (const name of seen) tally.set(name, (tally.get(name) ?? 0) + 1);
  return seen;
}

function checkChoice(given: TrainingCase, eager: Outcome, choice: MemoryChoice): Outcome {
  const own = runSteps(given, choice);
  const rerun = `TRAINING_CASE='${JSON.stringify(given)}' npx vitest run test/training-steps`;
  const what = `${JSON.stringify(given)} with memory ${JSON.stringify(choice)}; again: ${rerun}`;
  expect(differences(eager, own), `differs from eager: ${what}`).toEqual([]);
  expect(mispredicted(own), `another peak than predicted: ${what}`).toEqual([]);
  expect(own.exceptions, `not one program: ${what}`).toEqual([]);
  expect([eager.leaked, own.leaked], `leaks: ${what}`).toEqual([0, 0]);
  return own;
}
