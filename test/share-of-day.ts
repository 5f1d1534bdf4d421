/**
 * A run of everything takes a third of the cases of long searches for counterexamples, on each day the next third; with
 * `ALL_TESTS=1`, and where a run names files, it takes all.
 */

const parts = 3;
const isWhole = process.argv.slice(2).every((word) => word === 'run' || word.startsWith('-'));

/** What a run gives its workers: the part of today, or nothing for all. */
export const partOfDay: { readonly TEST_PART?: string } =
  isWhole && !process.env.ALL_TESTS
    ? { TEST_PART: String(Math.floor(Date.now() / 86_400_000) % parts) }
    : {};

export const leftToOtherDays: readonly string[] =
  partOfDay.TEST_PART === undefined
    ? []
    : ['two thirds of the cases of long searches: ALL_TESTS=1 takes all'];

/** Those of the cases that this run takes, in their order; `from` says which third comes on the first day. */
export function shareOfDay<T>(cases: readonly T[], from = 0): T[] {
  const { TEST_PART: part } = process.env;
  return cases.filter((_, i) => part === undefined || (i + from + Number(part)) % parts === 0);
}
