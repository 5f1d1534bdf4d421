/** Plans that don't fit exclude others: few are made, and a larger budget still recomputes no more. */

import { expect, it } from 'vitest';
import { Candidate } from '../../../src/5-optimize/recompute/choice.ts';
import { FailedPlans } from '../../../src/5-optimize/recompute/failed-plans.ts';
import { randomInts } from '../../plan/random-program.ts';

const beside = 1_000_000;
/** What is planned may need so much less than was measured. */
const slack = 0.2;

interface Planned {
  readonly candidate: Candidate;
  /** Bytes of its plan. */
  readonly bytes: number;
}

/** Candidates by increasing arithmetic, most of which need less than those before. */
function randomCandidates(seed: number, isExact: boolean): Planned[] {
  const below = randomInts(seed);
  return Array.from({ length: 80 }, (_, work) => {
    const measured = Math.floor((100_000 - 900 * work) * (0.8 + below(300) / 1000));
    const how =
      below(2) === 0 ? { stays: [], brief: [] } : { bytes: measured, patience: 0, seeds: [] };
    const make = () => ({ program: null }) as never;
    const candidate = new Candidate(how, work, make, () => beside + measured);
    return { candidate, bytes: measured * ((isExact ? 1 : 0.82) + below(200) / 1000) };
  });
}

/** The search: the first that fits, how many were planned, and how many were measured as small enough. */
function search(all: readonly Planned[], budget: number, isExact: boolean) {
  const failed = new FailedPlans(beside, isExact);
  const limit = failed.limitOf(beside + budget * (1 + (isExact ? 0 : slack)));
  let [plans, passed] = [0, 0];
  for (const { candidate, bytes } of all) {
    if (candidate.bytes > limit) continue;
    passed++;
    if (failed.excludes(candidate)) continue;
    plans++;
    if (bytes <= budget) return { work: candidate.work, plans, passed };
    failed.add(candidate);
  }
  return { work: Number.POSITIVE_INFINITY, plans, passed };
}

it.each([false, true])('more bytes never cost more arithmetic; exact: %s', (isExact) => {
  let excluded = 0;
  for (let seed = 0; seed < 100; seed++) {
    const all = randomCandidates(seed, isExact);
    let least = Number.POSITIVE_INFINITY;
    for (let budget = 20_000; budget < 120_000; budget *= 1.01) {
      const { work, plans, passed } = search(all, budget, isExact);
      expect(work, `seed ${seed}, budget ${budget}`).toBeLessThanOrEqual(least);
      least = work;
      if (passed > plans) excluded++;
      if (work === Number.POSITIVE_INFINITY || isExact) continue;
      // Two failures of each size down to the one that fits, for evictions and for kept values.
      expect(plans).toBeLessThanOrEqual(2 * 2 * (Math.ceil(Math.log(1.5) / Math.log(1.03)) + 1));
    }
  }
  expect(excluded).toBeGreaterThan(500);
});
