import { type NumberCall, numberCalls } from '../../ops/numbers/number-calls.ts';

/** Numbers returned by native calls in programs. */
interface CallLog {
  readonly numbers: number[];
  /** The index of the next number in a replayed run; null if calls are made and recorded. */
  next: number | null;
}

let log: CallLog | null = null;

/** Makes the call, or returns its recorded number in a replayed run. */
export function callNumber(fn: NumberCall): number {
  if (log !== null && log.next !== null && log.next < log.numbers.length) {
    return log.numbers[log.next++]!;
  }
  const number = numberCalls[fn]();
  if (log?.next === null) log.numbers.push(number);
  return number;
}

/** Appends the numbers that calls inside `body` return to `numbers`. */
export function notingCalls<T>(numbers: number[], body: () => T): T {
  return withLog({ numbers, next: null }, body);
}

/** Makes calls inside `body` return these numbers, in order. */
export function repeatingCalls<T>(numbers: number[], body: () => T): T {
  return withLog({ numbers, next: 0 }, body);
}

function withLog<T>(next: CallLog, body: () => T): T {
  const outer = log;
  log = next;
  try {
    return body();
  } finally {
    log = outer;
  }
}
