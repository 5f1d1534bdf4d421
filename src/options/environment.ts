import { ArgumentError } from '../../runtime/errors/errors.ts';

/** Reads a setting from the environment. Browsers have no environment, so nothing is set. */
function variable(name: string): string | undefined {
  const value = globalThis.process?.env?.[name];
  return value === '' ? undefined : value;
}

function refuse(name: string, given: string, expected: string): never {
  throw new ArgumentError({
    what: `${name}: not a setting`,
    given: `${name}=${given}`,
    expected,
    remedy: `set it to one of these, or leave ${name} out`,
  });
}

function count(name: string, most: number): number | undefined {
  const text = variable(name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > most) {
    refuse(name, text, `an integer from 0${most === Infinity ? ' on' : ` to ${most}`}`);
  }
  return value;
}

/** `TOSTATIC_FALLBACK`: the default of `fallback`. */
export function fallbackFromEnvironment(): 'eager' | 'error' | undefined {
  const value = variable('TOSTATIC_FALLBACK');
  if (value === undefined || value === 'eager' || value === 'error') return value;
  return refuse('TOSTATIC_FALLBACK', value, "'eager' or 'error'");
}

/** `TOSTATIC_MIN_GRAPH_SIZE`: the default of `minGraphSize`. */
export function minGraphSizeFromEnvironment(): number | undefined {
  return count('TOSTATIC_MIN_GRAPH_SIZE', Infinity);
}

/** `TOSTATIC_CHECK`: the default of `check`. */
export function checkFromEnvironment(): number | undefined {
  return count('TOSTATIC_CHECK', Infinity);
}

/** `TOSTATIC_CACHE`: the folder in which processes share traces and the results of planning. */
export function cacheFromEnvironment(): string | undefined {
  return variable('TOSTATIC_CACHE');
}

/**
 * `TOSTATIC_LOG`: 1 logs graphs; 2 also the cache and failing guards; 3 also instructions and breaks; 4 also
 * programs. Read at each use, so that a program can set it.
 */
export function logLevel(): number {
  return count('TOSTATIC_LOG', 4) ?? 0;
}
