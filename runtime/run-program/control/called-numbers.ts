import { type NumberCall, numberCalls } from '../../ops/numbers/number-calls.ts';

/** Numbers that calls in programs have returned. */
interface CallLog {
  readonly numbers: number[];
  /** The next number that a call of a repeated run returns; null: calls are made, and noted. */
  next: number | null;
}

let log: CallLog | null = null;

/** Makes the call, or returns its number in the run that is repeated. */
export function callNumber(fn: NumberCall): number {
  if (log !== null && log.next !== null && log.next < log.numbers.length) {
    return log.numbers[log.next++]!;
  }
  const number = numberCalls[fn]();
  if (log?.next === null) log.numbers.push(number);
  return number;
}

/** Inside `body`, the numbers of calls are appended to `numbers`. */
export function notingCalls<T>(numbers: number[], body: () => T): T {
  return withLog({ numbers, next: null }, body);
}

/** Inside `body`, calls return these numbers, in their order. */
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
