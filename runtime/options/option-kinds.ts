/** Kinds of option values: what an option accepts, and how an error message says so. */

import { equals, isInteger } from '../ops/numbers/number-arithmetic.ts';
import { scalarFunctions } from '../ops/numbers/scalar-functions.ts';
import { isNumber } from '../ops/numbers/symbolic-number.ts';
import { isAsync } from './is-async.ts';
import { isTensor } from './is-tensor.ts';

export interface OptionKind {
  /** A noun phrase for messages, such as 'an integer, 1 or more'. */
  readonly expected: string;
  readonly accepts: (value: unknown) => boolean;
  /** For kinds of numbers: the comparisons that define the kind, if there is no other condition. */
  readonly bounds?: readonly NumberBound[] | undefined;
}

export type NumberBound = readonly [comparison: '>' | '>=' | '<=', bound: number];

/** While tracing, a number may be symbolic. The op checks its range, which then becomes a guard. */
const inRange =
  (holds: (value: number) => boolean) =>
  (value: unknown): boolean =>
    typeof value === 'number' ? holds(value) : isNumber(value);

const bounded = (expected: string, ...bounds: readonly NumberBound[]): OptionKind => ({
  expected,
  accepts: inRange((value) =>
    bounds.every(([fn, bound]) => scalarFunctions.get(fn)!(value, bound)),
  ),
  bounds,
});

// No op checks these two, so the check itself becomes the guard. NaN doesn't equal itself.
export const anyNumber: OptionKind = {
  expected: 'a number',
  accepts: (value) => isNumber(value) && equals(value, value),
  bounds: [['>=', -Infinity]],
};

/** For options of ops, which accept NaN like any number. */
export const anyOperand: OptionKind = { expected: 'a number', accepts: isNumber, bounds: [] };

/** For an option that the op itself validates: the message depends on other arguments. */
export const judgedLater: OptionKind = { expected: 'any value', accepts: () => true };

export const positive: OptionKind = bounded('a number above 0', ['>', 0]);

export const nonNegativeNumber: OptionKind = bounded('a number, 0 or more', ['>=', 0]);

export const probability: OptionKind = bounded('a number from 0 to 1', ['>=', 0], ['<=', 1]);

export const anyInteger: OptionKind = {
  expected: 'an integer',
  accepts: (value) => isNumber(value) && isInteger(value),
};

/** An integer ≥ `least`. */
export const count = (least: number): OptionKind => ({
  expected: `an integer, ${least} or more`,
  accepts: inRange((value) => Number.isInteger(value) && value >= least),
});

export const flag: OptionKind = {
  expected: 'true or false',
  accepts: (value) => typeof value === 'boolean',
};

export const text: OptionKind = {
  expected: 'a string',
  accepts: (value) => typeof value === 'string',
};

export const anObject: OptionKind = {
  expected: 'an object',
  accepts: (value) => typeof value === 'object' && value !== null,
};

/** `accepts` is `isTensor` itself, not a wrapper: tracing runs the tests of these kinds. */
export const aTensor: OptionKind = { expected: 'a tensor', accepts: isTensor };

/** An iterable. It is not read here, because an iterator can only be used once. */
export const iterable: OptionKind = {
  expected: 'an array, or another iterable object',
  accepts: (value) => typeof value === 'object' && value !== null && Symbol.iterator in value,
};

export const byteArray: OptionKind = {
  expected: 'a Uint8Array',
  accepts: (value) => value instanceof Uint8Array,
};

export const nothing: OptionKind = {
  expected: 'undefined',
  accepts: (value) => value === undefined,
};

const lengthOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'length' in value ? value.length : undefined;

/** Any value with a `length`. */
export const withLength: OptionKind = {
  expected: 'a data set, with its length',
  accepts: (value) => Number.isInteger(lengthOf(value)),
};

/** A function whose work is done when it returns. */
export const callback: OptionKind = {
  expected: 'a function that is not async',
  accepts: (value) => typeof value === 'function' && !isAsync(value),
};

/** One of the given strings, numbers or flags. */
export const oneOf = (...values: readonly (string | number | boolean)[]): OptionKind => ({
  expected: listed(values.map((value) => (typeof value === 'string' ? `'${value}'` : `${value}`))),
  accepts: (value) => (values as readonly unknown[]).includes(value),
});

/** Returns an option kind whose values satisfy `holds`, described by `expected`. */
export const that = (expected: string, holds: (value: unknown) => boolean): OptionKind => ({
  expected,
  accepts: holds,
});

/** An array of `length` such values; any length if omitted. */
export const arrayOf = (kind: OptionKind, length?: number): OptionKind => ({
  expected:
    length === undefined
      ? `an array, each entry ${kind.expected}`
      : `an array of ${length}, each ${kind.expected}`,
  accepts: (value) =>
    Array.isArray(value) &&
    (length === undefined || value.length === length) &&
    value.every(kind.accepts),
});

/** A number for all dimensions, or an array with one per dimension. */
export const perDimension = (kind: OptionKind): OptionKind => either(kind, arrayOf(kind));

/** A value of any of the kinds. */
export const either = (...kinds: readonly OptionKind[]): OptionKind => ({
  expected: kinds.map(({ expected }) => expected).join(', or '),
  accepts: (value) => kinds.some(({ accepts }) => accepts(value)),
});

export const orNull = (kind: OptionKind): OptionKind => ({
  expected: `${kind.expected}, or null`,
  accepts: (value) => value === null || kind.accepts(value),
  bounds: kind.bounds,
});

function listed(names: readonly string[]): string {
  if (names.length < 2) return names.join('');
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}
