/** Validates option objects at run time, for untyped JavaScript: names, types and ranges. */

import { ArgumentError } from '../errors/errors.ts';
import { isAsync } from './is-async.ts';
import { isTensor } from './is-tensor.ts';
import { nearestName } from './nearest-name.ts';
import type { OptionKind } from './option-kinds.ts';

/** The kind of every option. A mapped type, so that an option without a kind fails to compile. */
export type OptionKinds<O extends object> = {
  readonly [Name in keyof Required<O>]: OptionKind;
};

/**
 * Throws ArgumentError if the options are not an object, have a name that is not in `kinds`, or a value that its
 * kind doesn't accept. An undefined option counts as omitted. `owner` is the user-visible name of the function or
 * class.
 */
export function expectOptions<O extends object>(
  owner: string,
  options: O,
  kinds: OptionKinds<O>,
): void {
  if (!canBeOptions(options)) throw notAnObject(owner, options, Object.keys(kinds));
  for (const name in options) {
    if (!Object.hasOwn(kinds, name)) {
      if (Object.hasOwn(options, name)) throw unknownOption(owner, name, Object.keys(kinds));
      continue;
    }
    const value: unknown = options[name];
    if (value === undefined || kinds[name].accepts(value)) continue;
    const { expected } = kinds[name];
    throw wrongValue(owner, name, value, expected, `, or leave ${name} out for the default`);
  }
}

/** Throws ArgumentError for the first argument that its kind doesn't accept; arguments are given by name. */
export function expectArguments<A extends object>(
  owner: string,
  actual: A,
  kinds: OptionKinds<A>,
): void {
  // Own names only: user code may extend Object.prototype.
  for (const name of Object.keys(kinds) as (keyof A & string)[]) {
    const { accepts, expected } = kinds[name];
    if (!accepts(actual[name])) throw wrongValue(owner, name, actual[name], expected);
  }
}

/** Returns the error for a value other than the `expected` one, a noun phrase. */
export function wrongValue(
  owner: string,
  name: string,
  value: unknown,
  expected: string,
  otherwise = '',
): ArgumentError {
  return new ArgumentError({
    what: `${owner}: ${name} has a wrong value`,
    given: `${name} = ${shown(value)}`,
    expected,
    remedy: `pass ${expected}${otherwise}`,
  });
}

/**
 * Throws ArgumentError if the options are not an object, or have a name that is not in `names`; for ops, which
 * validate the values themselves.
 */
export function expectNames<O extends object>(
  owner: string,
  options: O,
  names: readonly (keyof O & string)[],
): void {
  if (!canBeOptions(options)) throw notAnObject(owner, options, names);
  for (const name of Object.keys(options) as (keyof O & string)[]) {
    if (!names.includes(name)) throw unknownOption(owner, name, names);
  }
}

/** Whether the value may be options; a tensor or list in their position is another argument. */
export const canBeOptions = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isTensor(value);

/** Returns the error for options that are not an object. */
export function notAnObject(
  owner: string,
  value: unknown,
  names: readonly string[],
  remedy = `name the option: { ${names[0]}: … }`,
): ArgumentError {
  return new ArgumentError({
    what: `${owner}: options that are not an object`,
    given: shown(value),
    expected: `an object with ${names.join(', ')}`,
    remedy,
  });
}

/** Returns the error for a positional argument after the object that has all arguments. */
export function givenBothWays(
  owner: string,
  other: unknown,
  names: readonly string[],
): ArgumentError {
  return new ArgumentError({
    what: `${owner}: arguments by name and by position`,
    given: `${shown(other)} after an object`,
    expected: `either an object with ${names.join(', ')}, or values in this order`,
    remedy: 'move the value into the object',
  });
}

/**
 * Throws ArgumentError for arguments after the last one, which JavaScript would ignore. Constructors pass theirs on to
 * the base class, which checks them.
 */
export function expectNoMore(owner: string, surplus: readonly unknown[]): void {
  if (surplus.every((each) => each === undefined)) return;
  throw new ArgumentError({
    what: `${owner || 'constructor'}: more arguments than it takes`,
    given: `${surplus.map(shown).join(', ')} after the last one`,
    expected: 'the documented arguments, options in one object at the end',
    remedy: 'pass it as an option if there is one, or leave it out',
  });
}

/** Returns the error for an unknown option; its hint is the nearest known name. */
export function unknownOption(
  owner: string,
  name: string,
  known: readonly string[],
): ArgumentError {
  return new ArgumentError({
    what: `${owner}: no such option`,
    given: name,
    expected: known.join(', '),
    remedy: didYouMean(name, known) ?? 'use one of these names, or leave it out',
  });
}

/** Returns the remedy for a misspelt name; undefined if no known name is close. */
export function didYouMean(name: string, known: readonly string[]): string | undefined {
  const nearest = nearestName(name, known);
  return nearest && `did you mean '${nearest}'?`;
}

/** A value in an error message: `{ eps }` for an object with this key. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'bigint') return `${value}n`;
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`;
  if (typeof value === 'function') return isAsync(value) ? 'an async function' : 'a function';
  if (typeof value !== 'object' || value === null) return String(value);
  const type: unknown = value.constructor;
  if (typeof type === 'function' && type !== Object) return withArticle(type.name);
  const keys = Object.keys(value).join(', ');
  return keys ? `{ ${keys} }` : 'an object';
}

/** Letters that are spelled out begin with a vowel too: an LSTM, an SGD. */
const vowel = /^([AEIO]|Un|Up|[FHLMNRSX][A-Z])/;

const withArticle = (name: string): string => `${vowel.test(name) ? 'an' : 'a'} ${name}`;
