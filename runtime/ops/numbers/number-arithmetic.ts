/**
 * Arithmetic and comparisons on numbers passed to ops. Arithmetic on a symbolic number is symbolic; a comparison makes
 * the program depend on the outcome, not on the number.
 */

import { ArgumentError } from '../../errors/errors.ts';
import { knownDifference } from './linear-numbers.ts';
import { scalarFunctions } from './scalar-functions.ts';
import { isSymbolic, type SymbolicNumber } from './symbolic-number.ts';

/** −x */
export function negated(x: number): number {
  return typeof x === 'number' ? -x : apply('negate', x);
}

/** x·y */
export function product(x: number, y: number): number {
  return typeof x === 'number' && typeof y === 'number' ? x * y : apply('*', x, y);
}

/** x/y */
export function quotient(x: number, y: number): number {
  return typeof x === 'number' && typeof y === 'number' ? x / y : apply('/', x, y);
}

/** x + y */
export function plus(x: number, y: number): number {
  return typeof x === 'number' && typeof y === 'number' ? x + y : apply('+', x, y);
}

/** x − y */
export function minus(x: number, y: number): number {
  return typeof x === 'number' && typeof y === 'number' ? x - y : apply('-', x, y);
}

/** x − y, as a plain number if it is constant for integers: (i + 4) − i is 4. */
export function difference(x: number, y: number): number {
  if (isSymbolic(x) && isSymbolic(y)) {
    const known = knownDifference(x.table, x.id, y.id);
    if (known !== undefined && isSafeInteger(x) && isSafeInteger(y)) return known;
  }
  return minus(x, y);
}

/** The remainder of integer division: from 0 to y − 1 for a positive y, even if x is negative. */
export const remainder = (x: number, y: number): number => ((x % y) + y) % y;

/** x to the power of y */
export function power(x: number, y: number): number {
  return typeof x === 'number' && typeof y === 'number' ? x ** y : apply('**', x, y);
}

/** √x */
export function root(x: number): number {
  return typeof x === 'number' ? Math.sqrt(x) : apply('Math.sqrt', x);
}

/** The largest integer ≤ x. */
export function wholeBelow(x: number): number {
  return typeof x === 'number' ? Math.floor(x) : apply('Math.floor', x);
}

/** The smallest integer ≥ x. */
export function wholeAbove(x: number): number {
  return typeof x === 'number' ? Math.ceil(x) : apply('Math.ceil', x);
}

/** x without its fractional part. */
export function truncated(x: number): number {
  return typeof x === 'number' ? Math.trunc(x) : apply('Math.trunc', x);
}

/** x rounded to float32. */
export function nearestFloat32(x: number): number {
  return typeof x === 'number' ? Math.fround(x) : apply('Math.fround', x);
}

/** The natural logarithm. */
export function logarithm(x: number): number {
  return typeof x === 'number' ? Math.log(x) : apply('Math.log', x);
}

export function equals(x: number, y: number): boolean {
  return typeof x === 'number' && typeof y === 'number' ? x === y : decide('===', x, y);
}

/** x < y */
export function isBelow(x: number, y: number): boolean {
  return typeof x === 'number' && typeof y === 'number' ? x < y : decide('<', x, y);
}

/** x ≤ y */
export function isAtMost(x: number, y: number): boolean {
  return typeof x === 'number' && typeof y === 'number' ? x <= y : decide('<=', x, y);
}

export function isInteger(x: number): boolean {
  return typeof x === 'number' ? Number.isInteger(x) : decide('Number.isInteger', x);
}

function isSafeInteger(x: number): boolean {
  return typeof x === 'number' ? Number.isSafeInteger(x) : decide('Number.isSafeInteger', x);
}

function apply(fn: string, ...args: readonly (number | SymbolicNumber)[]): number {
  return tableOf(args).apply(fn, args) as unknown as number;
}

function decide(fn: string, ...args: readonly (number | SymbolicNumber)[]): boolean {
  // Values that are not numbers are compared as in JavaScript.
  const comparable = args.every((arg) => typeof arg === 'number' || isSymbolic(arg));
  if (comparable) return tableOf(args).decide(fn, args);
  return scalarFunctions.get(fn)!(...(args as number[])) as boolean;
}

function tableOf(args: readonly (number | SymbolicNumber)[]): SymbolicNumber['table'] {
  const invalid: unknown = args.find((arg) => typeof arg !== 'number' && !isSymbolic(arg));
  const symbol = args.find(isSymbolic);
  if (invalid === undefined && symbol) return symbol.table;
  throw new ArgumentError({
    what: 'an operand is not a number',
    given: typeof invalid,
    expected: 'a number',
    remedy: 'check where the value comes from',
  });
}
