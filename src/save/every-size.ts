/** Programs of one trace for all sizes: one document whose numbers are functions of the sizes. */

import { currentDevice } from '../../runtime/device/current.ts';
import { TostaticError } from '../../runtime/errors/errors.ts';
import { atSampleSizes } from '../../runtime/ops/loss/unequal-sizes.ts';
import { encodeHole, evaluateSize, type SizeExpr } from '../../runtime/save/size-expr.ts';
import { instantiates, type SavedSizes } from '../../runtime/save/sized-program.ts';
import type { NumberExpr } from '../guards/number-expr.ts';
import type { ShapeBounds } from '../guards/shape-bounds.ts';
import type { Source } from '../guards/source.ts';
import { sourceKey } from '../guards/source-key.ts';
import type { Resized } from '../traces/trace-result.ts';
import { type Sizes, SizeTerms } from './fit-sizes.ts';
import { leavesOf } from './program-document.ts';
import {
  type Bounds,
  combinations,
  genericPoint,
  genericPoints,
  samplePoints,
} from './sample-sizes.ts';
import type { SourceMapper } from './source-mapper.ts';

/** Returns a program as stored in a file, planned for given sizes; null if the trace would have taken another path. */
export type DocumentAt = (sizes: Sizes, ordered: boolean) => unknown;

/** If sizes 0 and 1 need more programs than this, they are not served. */
const mostSpecial = 8;

/**
 * Returns programs that serve all sizes of a trace within the bounds of the specification, or from 2 on without one.
 * Documents for several sizes must agree in everything but numbers, and each number must be a function of the sizes
 * that is correct for all of them. Empty if there is none: then only sizes of calls are served.
 */
export function programsForEverySize(
  resized: Resized,
  shapeBounds: ShapeBounds,
  mapper: SourceMapper,
  documentAt: DocumentAt,
): SavedSizes[] {
  const { keys } = resized;
  const open = keys.map((source): Bounds => {
    const { min = 2, max = Number.POSITIVE_INFINITY } = shapeBounds.get(sourceKey(source)) ?? {};
    return { min, max };
  });
  const written = resized.numbers().flatMap((expr) => {
    const found = sizeExprOf(expr, keys);
    return found === undefined ? [] : [found];
  });
  const family = new Family(documentAt, written, keys.length);
  const served: (Fitted & { readonly bounds: readonly Bounds[] })[] = [];
  const bounds = open.map(({ min, max }) => ({ min: Math.min(Math.max(min, 2), max), max }));
  const main = family.programFor(bounds);
  if (!main) return [];
  // Small sizes often share the same program; otherwise they get their own.
  bounds.forEach((each, i) => {
    while (each.min > open[i]!.min) {
      const others = bounds.map((other, k) => (k === i ? [each.min - 1] : cornersOf(other, k)));
      if (!combinations(others).every((sizes) => family.holds(main, sizes))) break;
      each.min--;
    }
  });
  served.push({ ...main, bounds });
  const special = combinations(
    bounds.map((each, i) => {
      const below = Array.from({ length: each.min - open[i]!.min }, (_, k) => open[i]!.min + k);
      return [each, ...below.map((size) => ({ min: size, max: size }))];
    }),
  ).slice(1);
  for (const each of special.slice(0, mostSpecial)) {
    const within = [...each];
    const program = family.programFor(within);
    if (program) served.push({ ...program, bounds: within });
  }
  return served.map(({ bounds: within, document, madeFor }) => ({
    places: keys.map((source) => mapper.of(source)),
    bounds: within.map(({ min, max }) => [min, Number.isFinite(max) ? max : null] as const),
    madeFor,
    document,
  }));
}

/** Returns the smallest size, and one unlike any other. */
function cornersOf({ min, max }: Bounds, index: number): number[] {
  return [...new Set([min, genericPoint({ min, max }, index)])];
}

/** A document with holes, and an expression for each. */
interface Fitted {
  readonly document: unknown;
  /** The expression of each leaf. */
  readonly exprs: readonly unknown[];
  readonly madeFor: Sizes;
}

class Family {
  readonly #documentAt: DocumentAt;
  readonly #written: readonly SizeExpr[];
  readonly #sizes: number;

  constructor(documentAt: DocumentAt, written: readonly SizeExpr[], sizes: number) {
    this.#documentAt = documentAt;
    this.#written = written;
    this.#sizes = sizes;
  }

  /**
   * Returns one program within the bounds, which are narrowed if small sizes have other ops. Null if no program is
   * found.
   */
  programFor(bounds: Bounds[]): Fitted | null {
    const first = genericPoints(bounds).find((sizes) => this.#at(sizes, false) !== null);
    if (!first) return null;
    const document = this.#at(first, true);
    const reference = valuesOf(document);
    const points: Sizes[] = [first];
    const found = [reference];
    for (const point of samplePoints(bounds, first)) {
      const other = this.#at(point, false);
      if (!other) continue;
      const values = valuesOf(other);
      if (!alike(reference, values)) {
        return narrowed(bounds, point, first) ? this.programFor(bounds) : null;
      }
      points.push(point);
      found.push(values);
    }
    const exprs = fitLeaves(document, points, found, this.#written);
    if (!exprs) return null;
    const tried = [points[0]!, points.at(-1)!, points[Math.floor(points.length / 2)]!];
    const fits = tried.every((sizes) => instantiates(document, sizes, currentDevice()));
    return fits ? { document, exprs, madeFor: first } : null;
  }

  /** Whether the program is also correct for these sizes. */
  holds({ document, exprs }: Fitted, sizes: Sizes): boolean {
    if (sizes.length !== this.#sizes) return false;
    const other = this.#at(sizes, false);
    if (!other) return false;
    const leaves = leavesOf(other);
    if (leaves.length !== exprs.length) return false;
    const isSame = leaves.every(({ holder, key }, i) => {
      const expr = exprs[i];
      const isExpr = typeof expr === 'object' && expr !== null;
      const expected = isExpr ? evaluateSize(expr as SizeExpr, sizes) : expr;
      return Object.is(holder[key], expected);
    });
    return isSame && instantiates(document, sizes, currentDevice());
  }

  #at(sizes: Sizes, ordered: boolean): unknown {
    try {
      return atSampleSizes(() => this.#documentAt(sizes, ordered));
    } catch (error) {
      // An op that rejects these sizes will reject them in a call, too.
      if (error instanceof TostaticError) return null;
      throw error;
    }
  }
}

/** Fits expressions to numbers that differ. Returns each leaf; null if one is not a function of the sizes. */
function fitLeaves(
  document: unknown,
  points: readonly Sizes[],
  found: readonly (readonly unknown[])[],
  written: readonly SizeExpr[],
): unknown[] | null {
  const leaves = leavesOf(document);
  const exprs: unknown[] = leaves.map((_, i) => found[0]![i]);
  const varying = leaves.flatMap((leaf, i) => {
    const values = found.map((each) => each[i]);
    return values.every((value) => Object.is(value, values[0])) ? [] : [{ leaf, i, values }];
  });
  const isOpen = varying.every(({ leaf, values }) => {
    return leaf.open && values.every((value) => typeof value === 'number');
  });
  if (!isOpen) return null;
  let terms = new SizeTerms(points, written);
  let left = varying;
  // Known sizes of results determine others, such as the number of elements that a mean is taken over.
  for (const round of [1, 2]) {
    const known: SizeExpr[] = [];
    left = left.filter(({ leaf, i, values }) => {
      const expr = terms.fit(values as number[]);
      if (expr === undefined) return true;
      leaf.holder[leaf.key] = encodeHole(expr);
      exprs[i] = expr;
      known.push(expr);
      return false;
    });
    if (left.length === 0) return exprs;
    if (round === 1) terms = new SizeTerms(points, [...written, ...different(known)]);
  }
  return null;
}

/** Above this number, sizes of results are not used to derive others. */
const mostKnown = 12;

function different(exprs: readonly SizeExpr[]): SizeExpr[] {
  const known = new Map(exprs.map((expr) => [JSON.stringify(expr), expr]));
  return [...known.values()].slice(0, mostKnown);
}

/** The number of sizes that may be narrowed; with more special sizes, there is no search. */
const mostNarrowed = 8;

/** Raises the bound of the only size that differs from the generic point; returns false if that's impossible. */
function narrowed(bounds: Bounds[], point: Sizes, generic: Sizes): boolean {
  const others = point.flatMap((size, i) => (size === generic[i] ? [] : [i]));
  const [i] = others;
  if (i === undefined || others.length > 1) return false;
  const size = point[i]!;
  if (size >= Math.min(bounds[i]!.min + mostNarrowed, bounds[i]!.max, mostNarrowed)) return false;
  bounds[i] = { ...bounds[i]!, min: size + 1 };
  return true;
}

function valuesOf(document: unknown): unknown[] {
  return leavesOf(document).map(({ holder, key }) => holder[key]);
}

/** Whether both are equal except for numbers. */
function alike(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, i) => typeof value === typeof b[i]);
}

/** Returns undefined for an expression that depends on more than the keys. */
function sizeExprOf(expr: NumberExpr, keys: readonly Source[]): SizeExpr | undefined {
  switch (expr.kind) {
    case 'constant':
      return expr.value;
    case 'size':
      return undefined;
    case 'source': {
      const key = sourceKey(expr.source);
      const size = keys.findIndex((source) => sourceKey(source) === key);
      return size < 0 ? undefined : { size };
    }
    case 'apply': {
      const args = expr.args.map((arg) => sizeExprOf(arg, keys));
      if (args.some((arg) => arg === undefined)) return undefined;
      return [expr.fn, ...(args as SizeExpr[])];
    }
  }
}
