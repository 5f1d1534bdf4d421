import { dtypes } from '../../spec/dtype.ts';
import { isSymbolic } from '../numbers/symbolic-number.ts';

/** The allowed values of an op's attribute. */
export type AttrRule =
  | 'number'
  /** A number, or a flag that counts as 1 or 0. */
  | 'numeric'
  | 'numbers'
  | 'boolean'
  | 'dtype'
  /** A dimension, counted from the front. */
  | 'dim'
  /** Distinct dimensions. */
  | 'dims'
  /** Any integer. */
  | 'whole'
  /** A non-negative integer. */
  | 'size'
  | 'sizes'
  /** A positive integer. */
  | 'count'
  /** Two non-negative integers. */
  | 'pair'
  | 'counts'
  | { readonly oneOf: readonly string[] }
  /** May be omitted. */
  | { readonly optional: AttrRule };

/** Rules by attribute name. */
export type AttrRules = Readonly<Record<string, AttrRule>>;

interface AttrProblem {
  readonly name: string;
  readonly given: unknown;
  readonly expected: string;
}

/**
 * Returns the first attribute that is missing or breaks a rule; null if there is none. Dimensions must be below `rank`.
 * Attributes without a rule are not read by kernels.
 */
export function attrProblem(
  rules: AttrRules,
  attrs: Readonly<Record<string, unknown>>,
  rank: number,
): AttrProblem | null {
  for (const [name, rule] of Object.entries(rules)) {
    const given = Object.hasOwn(attrs, name) ? attrs[name] : undefined;
    const expected = expectedOf(rule, given, rank);
    if (expected !== null) return { name, given, expected };
  }
  return null;
}

const isInt = (value: unknown, min: number): boolean =>
  (Number.isSafeInteger(value) && Number(value) >= min) || isSymbolic(value);

const areInts = (value: unknown, min: number): value is readonly number[] =>
  Array.isArray(value) && value.every((item) => isInt(item, min));

/** Returns the rule's expectation if the value breaks it, else null. */
function expectedOf(rule: AttrRule, value: unknown, rank: number): string | null {
  if (typeof rule === 'object') {
    if ('optional' in rule) {
      return value === undefined ? null : expectedOf(rule.optional, value, rank);
    }
    const isKnown = typeof value === 'string' && rule.oneOf.includes(value);
    return isKnown ? null : `one of ${rule.oneOf.join(', ')}`;
  }
  const { keeps, expected } = kinds[rule];
  return keeps(value, rank) ? null : expected(rank);
}

interface Kind {
  readonly keeps: (value: unknown, rank: number) => boolean;
  readonly expected: (rank: number) => string;
}

const isNumber = (value: unknown): boolean => typeof value === 'number' || isSymbolic(value);

const kinds: { readonly [R in Extract<AttrRule, string>]: Kind } = {
  number: { keeps: isNumber, expected: () => 'a number' },
  numeric: {
    keeps: (value) => isNumber(value) || typeof value === 'boolean',
    expected: () => 'a number',
  },
  numbers: {
    keeps: (value) => Array.isArray(value) && value.every(isNumber),
    expected: () => 'a list of numbers',
  },
  boolean: { keeps: (value) => typeof value === 'boolean', expected: () => 'true or false' },
  dtype: {
    keeps: (value) => typeof value === 'string' && Object.hasOwn(dtypes, value),
    expected: () => `one of ${Object.keys(dtypes).join(', ')}`,
  },
  dim: {
    keeps: (value, rank) => isInt(value, 0) && Number(value) < rank,
    expected: (rank) => `a dimension below ${rank}`,
  },
  dims: {
    keeps: (value, rank) =>
      areInts(value, 0) && value.every((dim) => dim < rank) && new Set(value).size === value.length,
    expected: (rank) => `dimensions below ${rank}, each once`,
  },
  whole: {
    keeps: (value) => isInt(value, Number.NEGATIVE_INFINITY),
    expected: () => 'a whole number',
  },
  size: { keeps: (value) => isInt(value, 0), expected: () => 'a whole number from 0 on' },
  sizes: {
    keeps: (value) => areInts(value, 0),
    expected: () => 'a list of whole numbers from 0 on',
  },
  count: { keeps: (value) => isInt(value, 1), expected: () => 'a whole number from 1 on' },
  pair: {
    keeps: (value) => areInts(value, 0) && value.length === 2,
    expected: () => 'two whole numbers from 0 on',
  },
  counts: {
    keeps: (value) => areInts(value, 1) && value.length === 2,
    expected: () => 'two whole numbers from 1 on',
  },
};
