/**
 * A run of everything takes a quarter of the cases of long searches for counterexamples, on each day the next quarter;
 * with `ALL_TESTS=1`, and where a run names files, it takes all.
 */

const parts = 4;
const isWhole = process.argv.slice(2).every((word) => word === 'run' || word.startsWith('-'));

/** What a run gives its workers: the part of today, or nothing for all. */
export const partOfDay: { readonly TEST_PART?: string } =
  isWhole && !process.env.ALL_TESTS
    ? { TEST_PART: String(Math.floor(Date.now() / 86_400_000) % parts) }
    : {};

export const leftToOtherDays: readonly string[] =
  partOfDay.TEST_PART === undefined
    ? []
    : ['three quarters of the cases of long searches: ALL_TESTS=1 takes all'];

/** Whether this run takes the case of the number. */
export function isOfDay(number: number): boolean {
  const { TEST_PART: part } = process.env;
  return part === undefined || (number + Number(part)) % parts === 0;
}

/** Those of the cases that this run takes, in their order; `from` says which quarter comes on the first day. */
export const shareOfDay = <T>(cases: readonly T[], from = 0): T[] =>
  cases.filter((_, i) => isOfDay(i + from));
