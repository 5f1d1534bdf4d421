import { ArgumentError } from '../../../errors/errors.ts';
import { canShare, mostThreads } from '../core/heap.ts';

/** More threads are only used on request, because they share memory bandwidth. */
const mostByDefault = 8;

function cores(): number {
  const os = globalThis.process?.getBuiltinModule?.('node:os');
  return os?.availableParallelism?.() ?? globalThis.navigator?.hardwareConcurrency ?? 1;
}

/** Validates a number of threads from the user. Throws ArgumentError. */
export function checkedThreads(value: unknown, what: string): number {
  const count = typeof value === 'string' ? Number(value) : value;
  if (typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= mostThreads) {
    return count;
  }
  throw new ArgumentError({
    what: `${what}: no such number of threads`,
    given: String(value),
    expected: `a whole number from 1 to ${mostThreads}`,
    remedy: `leave it out for one thread per core, up to ${mostByDefault}`,
  });
}

/** Returns the number in TOSTATIC_THREADS, or else one thread per core; 1 if threads can't share memory. */
export function defaultThreads(): number {
  const setting = globalThis.process?.env?.TOSTATIC_THREADS;
  const count = setting
    ? checkedThreads(setting, 'TOSTATIC_THREADS')
    : Math.min(cores(), mostByDefault);
  return canShare ? count : 1;
}
