import { type Tap, tapsOf } from '../../../runtime/numerics/taps.ts';
import { type ArithmeticTarget, type TargetValue, wideElement } from './target.ts';

/** An engine's operations on one dimension of a tensor. */
export interface DimArithmetic<V extends TargetValue> {
  readonly to: ArithmeticTarget<V>;
  /** The entries of the dimension at constant positions. */
  readonly entries: (x: V, places: Int32Array) => V;
  /** One factor for each entry of the dimension, broadcast to the tensor. */
  readonly factors: (values: Float64Array, like: V) => V;
  /** The dimension's entries times a row-major matrix [from, size]. */
  readonly product: (x: V, matrix: Float64Array, size: number) => V;
}

interface Resampling {
  /** Sizes of the dimension in the op's operand and result; the gradient maps the result to the operand. */
  readonly from: number;
  readonly size: number;
  readonly attrs: Readonly<Record<string, unknown>>;
  readonly isGradient: boolean;
}

/** Up to this many terms per entry are added one by one; more are a product with a matrix. */
const mostTerms = 4;

/** Computes a dimension as weighted sums of its entries: interpolation, average pooling, and the gradients of both. */
export function resampled<V extends TargetValue>(
  along: DimArithmetic<V>,
  x: V,
  { from, size, attrs, isGradient }: Resampling,
): V {
  const { to } = along;
  const forward = Array.from({ length: size }, (_, i) => tapsOf(i, from, size, attrs));
  const taps = isGradient ? transposed(forward, from) : forward;
  const wide = to.convert(x, wideElement(x.element));
  const terms = Math.max(...taps.map(({ length }) => length), 1);
  const sum =
    terms > mostTerms
      ? byProduct(along, wide, taps, isGradient ? size : from)
      : byTerms(along, wide, taps, terms);
  return to.convert(sum, x.element);
}

/** For each entry of the operand, the entries of the result that it contributes to. */
function transposed(taps: readonly (readonly Tap[])[], from: number): Tap[][] {
  const own = Array.from({ length: from }, (): Tap[] => []);
  taps.forEach((list, i) => {
    for (const [index, weight] of list) own[index]!.push([i, weight]);
  });
  return own;
}

function byTerms<V extends TargetValue>(
  { to, entries, factors }: DimArithmetic<V>,
  x: V,
  taps: readonly (readonly Tap[])[],
  terms: number,
): V {
  const parts = Array.from({ length: terms }, (_, k) => {
    // An entry with fewer terms repeats its first one with weight 0.
    const places = Int32Array.from(taps, (list) => (list[k] ?? list[0])?.[0] ?? 0);
    const weights = Float64Array.from(taps, (list) => list[k]?.[1] ?? 0);
    const part = entries(x, places);
    if (weights.every((weight) => weight === 1)) return part;
    return to.binary('multiply', part, factors(weights, part));
  });
  return parts.reduce((sum, part) => to.binary('add', sum, part));
}

function byProduct<V extends TargetValue>(
  { product }: DimArithmetic<V>,
  x: V,
  taps: readonly (readonly Tap[])[],
  rows: number,
): V {
  const size = taps.length;
  const matrix = new Float64Array(rows * size);
  taps.forEach((list, i) => {
    for (const [index, weight] of list) matrix[index * size + i]! += weight;
  });
  return product(x, matrix, size);
}
