/** Checks of positional arguments: numbers, flags and sizes. */

import { ArgumentError } from '../../errors/errors.ts';
import { canBeOptions, expectNames, shown } from '../../options/expect-options.ts';
import type { Shape } from '../../spec/shape.ts';
import { isAtMost, isBelow, isInteger } from '../numbers/number-arithmetic.ts';
import { isNumber } from '../numbers/symbolic-number.ts';

function misplaced(op: string, name: string, value: unknown, expected: string): ArgumentError {
  return new ArgumentError({
    what: `${op}: ${name} is not ${expected}`,
    given: shown(value),
    expected: `${expected} in the place of ${name}`,
    remedy: canBeOptions(value)
      ? `pass ${name} by its position: this argument is not part of an options object`
      : `pass ${expected}`,
  });
}

/** Throws ArgumentError for anything but a number. */
export function expectNumber(op: string, name: string, value: unknown): void {
  if (!isNumber(value)) throw misplaced(op, name, value, 'a number');
}

/** Throws ArgumentError for anything but a number above 0. */
export function expectPositive(op: string, name: string, value: number): void {
  expectNumber(op, name, value);
  if (!isBelow(0, value)) throw misplaced(op, name, value, 'a number above 0');
}

/** Throws ArgumentError for anything but a number from `least` on, 0 by default, to `most`. */
export function expectWithin(
  op: string,
  name: string,
  value: number,
  least = 0,
  most?: number,
): void {
  expectNumber(op, name, value);
  if (isAtMost(least, value) && (most === undefined || isAtMost(value, most))) return;
  const range =
    most === undefined ? `a number, ${least} or more` : `a number from ${least} to ${most}`;
  throw misplaced(op, name, value, range);
}

/** Throws ArgumentError for anything but a whole number. */
export function expectWhole(op: string, name: string, value: unknown): void {
  expectNumber(op, name, value);
  if (!isInteger(value as number)) throw misplaced(op, name, value, 'an integer');
}

/** Throws ArgumentError for anything but true or false. */
export function expectFlag(op: string, name: string, value: unknown): void {
  if (typeof value !== 'boolean') throw misplaced(op, name, value, 'true or false');
}

/** Returns the list; throws ArgumentError for anything but an array of numbers. */
export function numbersIn(op: string, name: string, value: unknown): readonly number[] {
  if (Array.isArray(value) && value.every(isNumber)) return value;
  throw misplaced(op, name, value, 'a number or an array of numbers');
}

/** A number, by position or as PyTorch's keyword in an object: `add(x, y, { alpha: 2 })`. */
export type Keyword<Name extends string> = number | { readonly [N in Name]?: number | undefined };

/**
 * Returns the number, or `otherwise` if the object omits it; throws ArgumentError for an object with another name or
 * without a number.
 */
export function numberFrom<Name extends string>(
  op: string,
  name: Name,
  argument: Keyword<Name>,
  otherwise = 1,
): number {
  if (isNumber(argument)) return argument;
  expectNames(op, argument, [name]);
  const { [name]: value = otherwise } = argument;
  expectNumber(op, name, value);
  return value;
}

/** Sizes or dimensions, as one array or as separate arguments. */
export type Sizes = (Shape | number)[];

/** Returns the sizes as one array; throws ArgumentError for anything but numbers. */
export function sizesOf(op: string, sizes: readonly unknown[]): Shape {
  const [first] = sizes;
  const list: unknown = sizes.length === 1 && !isNumber(first) ? first : sizes;
  if (Array.isArray(list) && list.every(isNumber)) return list as Shape;
  throw new ArgumentError({
    what: `${op}: not a list of numbers`,
    given: sizes.map(shown).join(', '),
    expected: 'numbers, in an array or one by one',
    remedy: `write x.${op}([2, 3]) or x.${op}(2, 3)`,
  });
}
