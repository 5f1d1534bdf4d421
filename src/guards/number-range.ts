import { type NumberExpr, numberKey } from './number-expr.ts';
import type { ShapeBounds } from './shape-bounds.ts';
import { sourceKey } from './source-key.ts';

/** Integer bounds of a value, both included. */
interface Range {
  readonly low: number;
  readonly high: number;
}

/** A linear combination, with integer coefficients, of sizes and values computed from them. */
interface Sum {
  readonly constant: number;
  /** Terms by the keys of their expressions. */
  readonly terms: ReadonlyMap<string, { readonly times: number; readonly range: Range }>;
}

/**
 * Returns the result of a comparison if it is the same for every size within the shape bounds; undefined if it depends
 * on the size, or compares anything but bounded sizes.
 */
export function decidedByBounds(expr: NumberExpr, bounds: ShapeBounds): boolean | undefined {
  if (expr.kind !== 'apply' || expr.args.length !== 2) return undefined;
  const [a, b] = expr.args.map((arg) => sumOf(arg, bounds));
  if (!a || !b) return undefined;
  const { low, high } = rangeOfSum(plus(a, b, -1));
  switch (expr.fn) {
    case '<':
      return high < 0 ? true : low >= 0 ? false : undefined;
    case '<=':
      return high <= 0 ? true : low > 0 ? false : undefined;
    case '>':
      return low > 0 ? true : high <= 0 ? false : undefined;
    case '>=':
      return low >= 0 ? true : high < 0 ? false : undefined;
    case '===':
      return equal(low, high);
    case '!==': {
      const same = equal(low, high);
      return same === undefined ? undefined : !same;
    }
    default:
      return undefined;
  }
}

function equal(low: number, high: number): boolean | undefined {
  if (low > 0 || high < 0) return false;
  return low === 0 && high === 0 ? true : undefined;
}

export function rangeOf(expr: NumberExpr, bounds: ShapeBounds): Range | undefined {
  const sum = sumOf(expr, bounds);
  return sum && rangeOfSum(sum);
}

function rangeOfSum({ constant, terms }: Sum): Range {
  let [low, high] = [constant, constant];
  for (const { times, range } of terms.values()) {
    const ends = [range.low * times, range.high * times];
    low += Math.min(...ends);
    high += Math.max(...ends);
  }
  return { low, high };
}

/** Returns undefined unless the expression is an integer derived from sizes. */
function sumOf(expr: NumberExpr, bounds: ShapeBounds): Sum | undefined {
  switch (expr.kind) {
    case 'constant':
      return Number.isSafeInteger(expr.value) ? constantSum(expr.value) : undefined;
    case 'size':
      return term(expr, { low: 0, high: Number.POSITIVE_INFINITY });
    case 'source': {
      const size = bounds.get(sourceKey(expr.source));
      return size && term(expr, { low: size.min, high: size.max });
    }
    case 'apply': {
      const args = expr.args.map((arg) => sumOf(arg, bounds));
      if (args.some((arg) => arg === undefined)) return undefined;
      return applied(expr, args as Sum[]);
    }
  }
}

function applied(expr: NumberExpr & { kind: 'apply' }, args: readonly Sum[]): Sum | undefined {
  const ranges = args.map(rangeOfSum);
  const lows = ranges.map(({ low }) => low);
  const highs = ranges.map(({ high }) => high);
  const [a, b] = args;
  switch (expr.fn) {
    case 'Math.max':
      return term(expr, { low: Math.max(...lows), high: Math.max(...highs) });
    case 'Math.min':
      return term(expr, { low: Math.min(...lows), high: Math.min(...highs) });
    case '+':
      return plus(a!, b!, 1);
    case '-':
      return plus(a!, b!, -1);
    case '*': {
      if (b!.terms.size === 0) return plus(constantSum(0), a!, b!.constant);
      if (a!.terms.size === 0) return plus(constantSum(0), b!, a!.constant);
      const [low, high] = [lows[0]! * lows[1]!, highs[0]! * highs[1]!];
      // Infinity times 0 is NaN.
      return lows.every((end) => end >= 0) && high >= low ? term(expr, { low, high }) : undefined;
    }
    default:
      return undefined;
  }
}

function constantSum(constant: number): Sum {
  return { constant, terms: new Map() };
}

function term(expr: NumberExpr, range: Range): Sum {
  return { constant: 0, terms: new Map([[numberKey(expr), { times: 1, range }]]) };
}

/** `a + times * b` */
function plus(a: Sum, b: Sum, times: number): Sum {
  const terms = new Map(a.terms);
  for (const [key, { times: more, range }] of b.terms) {
    const sum = (terms.get(key)?.times ?? 0) + more * times;
    if (sum === 0) terms.delete(key);
    else terms.set(key, { times: sum, range });
  }
  return { constant: a.constant + b.constant * times, terms };
}
