import type { Parameters } from 'fast-check';

/**
 * How many programs to make, and from which seed: as many as given and always the same ones, or with `GENERATED_RUNS`
 * as many as it says, new ones each time (`GENERATED_SEED` makes the same again; failures print theirs).
 */
export function runs<T>(usually: number, usualSeed = 1): Parameters<T> {
  const { GENERATED_RUNS: wanted, GENERATED_SEED: seed } = process.env;
  const numRuns = wanted === undefined ? usually : Number(wanted);
  if (seed !== undefined) return { numRuns, seed: Number(seed) };
  return wanted === undefined ? { numRuns, seed: usualSeed } : { numRuns };
}
