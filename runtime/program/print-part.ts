/** The arguments of a line that a program prints on the console. */

import type { TextPart } from './number-text.ts';

/**
 * An argument of the console: a constant, a tensor of the program, its number, text with such numbers, or an array or
 * object of such parts.
 */
export type PrintPart =
  | { readonly constant: string | number | boolean | null }
  | { readonly special: keyof typeof specialConstants }
  | { readonly value: number }
  | ScalarPart
  | { readonly text: readonly TextPart<ScalarPart>[] }
  | { readonly list: readonly PrintPart[] }
  | { readonly fields: readonly (readonly [string, PrintPart])[] };

export type ScalarPart = { readonly number: number } | { readonly boolean: number };

/** Constants that JSON lacks. */
export const specialConstants = {
  undefined: undefined,
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
  '-0': -0,
} as const;
