/** Finds numbers of a program as functions of its sizes, from their values at several sets of sizes. */

import { evaluateSize, type SizeExpr } from '../../runtime/save/size-expr.ts';

export type Sizes = readonly number[];

/** Terms that numbers may be computed from: the sizes, their products, and expressions of the user's code. */
export class SizeTerms {
  readonly #points: readonly Sizes[];
  readonly #terms: readonly Term[];
  readonly #sums: readonly Term[];

  /** `written`: expressions of the sizes in the user's code, and sizes of results that are already known. */
  constructor(points: readonly Sizes[], written: readonly SizeExpr[]) {
    this.#points = points;
    const sizes = (points[0] ?? []).map((_, size): SizeExpr => ({ size }));
    const single = [...sizes, ...written];
    const pairs = single.flatMap((a, i) => single.slice(i).map((b): SizeExpr => ['*', a, b]));
    const triples =
      sizes.length > 3
        ? []
        : sizes.flatMap((size) => pairs.map((pair): SizeExpr => ['*', pair, size]));
    this.#terms = this.#different([...single, ...pairs, ...triples]);
    this.#sums = this.#different([...single, ...pairs]);
  }

  /** Returns an expression that equals each value at its point, to the last bit; undefined if none is found. */
  fit(values: readonly number[]): SizeExpr | undefined {
    const [first] = values;
    if (values.every((value) => Object.is(value, first))) return first!;
    for (const expr of this.#candidates(values)) {
      if (this.holds(expr, values)) return expr;
    }
    return undefined;
  }

  holds(expr: SizeExpr, values: readonly number[]): boolean {
    return this.#points.every((sizes, i) => Object.is(evaluateSize(expr, sizes), values[i]));
  }

  #different(exprs: readonly SizeExpr[]): Term[] {
    const known = new Map<string, Term>();
    for (const expr of exprs) {
      const at = this.#points.map((sizes) => evaluateSize(expr, sizes));
      const key = at.join();
      const varies = at.some((value) => value !== at[0]);
      if (varies && at.every(Number.isFinite) && !known.has(key)) known.set(key, { expr, at });
    }
    return [...known.values()];
  }

  /** Yields expressions of a count; `back` maps a value to the count. */
  *#ofCount(
    values: readonly number[],
    back: (value: number) => number,
    fraction: (count: SizeExpr) => SizeExpr,
  ): Generator<SizeExpr> {
    const counts = values.map((value) => Math.round(back(value)));
    if (!counts.every((count) => Number.isSafeInteger(count) && count > 0)) return;
    for (const { expr, at } of this.#terms) {
      for (const count of affine(expr, at, counts)) {
        if (this.holds(count, counts)) yield fraction(count);
      }
    }
  }

  *#candidates(values: readonly number[]): Generator<SizeExpr> {
    for (const { expr, at } of this.#terms) yield* proportional(expr, at, values);
    for (const { expr, at } of this.#terms) yield* affine(expr, at, values);
    yield* this.#ofCount(
      values,
      (value) => 1 / value,
      (count) => ['/', 1, count],
    );
    // The factor that makes a variance of n samples unbiased.
    const unbiased = (count: SizeExpr): SizeExpr => ['/', count, ['-', count, 1]];
    yield* this.#ofCount(values, (value) => value / (value - 1), unbiased);
    for (const [i, a] of this.#sums.entries()) {
      for (const b of this.#sums.slice(i + 1)) yield* ofTwo(a, b, values);
    }
    for (const { expr, at } of this.#terms) yield* stepped(expr, at, values);
  }
}

interface Term {
  readonly expr: SizeExpr;
  /** Its value at each point. */
  readonly at: readonly number[];
}

const times = (factor: number, expr: SizeExpr): SizeExpr => {
  if (factor === 1) return expr;
  const divisor = 1 / factor;
  const isPart = !Number.isInteger(factor) && Number.isInteger(divisor);
  return isPart ? ['/', expr, divisor] : ['*', expr, factor];
};

const plus = (expr: SizeExpr, more: number): SizeExpr => (more === 0 ? expr : ['+', expr, more]);

/** `c * x`, `x / c`, `c / x` */
function* proportional(expr: SizeExpr, at: Sizes, values: Sizes): Generator<SizeExpr> {
  const i = at.findIndex((value) => value !== 0);
  if (i < 0) return;
  yield times(values[i]! / at[i]!, expr);
  const product = values[i]! * at[i]!;
  yield ['/', product, expr];
  if (!Number.isInteger(product)) yield ['/', Math.round(product), expr];
}

/** `a * x + b` */
function* affine(expr: SizeExpr, at: Sizes, values: Sizes): Generator<SizeExpr> {
  const j = at.findIndex((value) => value !== at[0]);
  const slope = (values[j]! - values[0]!) / (at[j]! - at[0]!);
  if (slope !== 0 && Number.isFinite(slope))
    yield plus(times(slope, expr), values[0]! - slope * at[0]!);
}

/** `a * x + b * y + c` with integer coefficients */
function* ofTwo(x: Term, y: Term, values: Sizes): Generator<SizeExpr> {
  const rows = values.map(
    (value, i) => [x.at[i]! - x.at[0]!, y.at[i]! - y.at[0]!, value - values[0]!] as const,
  );
  for (const [i, [a, b, c]] of rows.entries()) {
    for (const [d, e, f] of rows.slice(i + 1)) {
      const determinant = a * e - b * d;
      if (determinant === 0) continue;
      const [p, q] = [(c * e - b * f) / determinant, (a * f - c * d) / determinant];
      if (![p, q].every(Number.isInteger)) return;
      const sum: SizeExpr = ['+', times(p, x.expr), times(q, y.expr)];
      yield plus(sum, values[0]! - p * x.at[0]! - q * y.at[0]!);
      return;
    }
  }
}

const largestStep = 16;

/** `floor((x + b) / c)`, like the number of positions of strided windows. */
function* stepped(expr: SizeExpr, at: Sizes, values: Sizes): Generator<SizeExpr> {
  for (let step = 2; step <= largestStep; step++) {
    const isClose = values.every((value, i) => Math.abs(value - at[i]! / step) < 2 * largestStep);
    if (!isClose) continue;
    for (let shift = -2 * largestStep; shift <= 2 * largestStep; shift++) {
      yield ['Math.floor', ['/', plus(expr, shift), step]];
    }
  }
}
