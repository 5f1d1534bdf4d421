import { type Tap, tapsOf } from '../../../runtime/numerics/taps.ts';
import { fixedAttr, fixedAttrs, fixedShape } from '../target/attributes.ts';
import type { CommonMapping, CommonMappings } from '../target/op-mapping.ts';
import { type TargetValue, type TensorTarget, wideElement } from '../target/target.ts';

/** Up to this many terms per entry are added one by one; more are computed as a product with a matrix. */
const mostTerms = 4;

/** Computes a dimension as weighted sums of its entries: interpolation, average pooling, and the gradients of both. */
function resampling(isGradient: boolean): CommonMapping {
  return (call) => {
    const { to, inputs, outputs } = call;
    const x = inputs[0]!;
    const dim = fixedAttr(call, 'dim');
    const sizes = fixedShape(call, [x.shape[dim]!, outputs[0]!.shape[dim]!], 'size');
    const [from, size] = (isGradient ? sizes.toReversed() : sizes) as [number, number];
    const attrs = fixedAttrs(call);
    const forward = Array.from({ length: size }, (_, i) => tapsOf(i, from, size, attrs));
    const taps = isGradient ? transposed(forward, from) : forward;
    const wide = to.convert(x, wideElement(x.element));
    const terms = Math.max(...taps.map(({ length }) => length), 1);
    const sum =
      terms > mostTerms ? byProduct(to, dim, wide, taps) : byTerms(to, dim, wide, { taps, terms });
    return to.convert(sum, x.element);
  };
}

/** Returns, for each entry of the operand, the entries of the result that it contributes to. */
function transposed(taps: readonly (readonly Tap[])[], from: number): Tap[][] {
  const own = Array.from({ length: from }, (): Tap[] => []);
  taps.forEach((list, i) => {
    for (const [index, weight] of list) own[index]!.push([i, weight]);
  });
  return own;
}

function byTerms<V extends TargetValue>(
  to: TensorTarget<V>,
  dim: number,
  x: V,
  { taps, terms }: { readonly taps: readonly (readonly Tap[])[]; readonly terms: number },
): V {
  const parts = Array.from({ length: terms }, (_, k) => {
    // An entry with fewer terms repeats its first one with weight 0.
    const places = Int32Array.from(taps, (list) => (list[k] ?? list[0])?.[0] ?? 0);
    const weights = Float64Array.from(taps, (list) => list[k]?.[1] ?? 0);
    const part = to.entriesAt(x, dim, places);
    if (weights.every((weight) => weight === 1)) return part;
    const column = part.shape.slice(dim).map((_, d) => (d === 0 ? weights.length : 1));
    const factors = to.spread(to.literal(weights, part.element, column), part.shape);
    return to.binary('multiply', part, factors);
  });
  return parts.reduce((sum, part) => to.binary('add', sum, part));
}

/** The dimension's entries times a matrix [from, size]. */
function byProduct<V extends TargetValue>(
  to: TensorTarget<V>,
  dim: number,
  x: V,
  taps: readonly (readonly Tap[])[],
): V {
  const [rows, size] = [x.shape[dim] as number, taps.length];
  const matrix = new Float64Array(rows * size);
  taps.forEach((list, i) => {
    for (const [index, weight] of list) matrix[index * size + i]! += weight;
  });
  const dims = x.shape.map((_, d) => d);
  const order = [...dims.filter((d) => d !== dim), dim];
  const last = to.transpose(x, order);
  return to.transpose(
    to.matmul(last, to.literal(matrix, x.element, [rows, size])),
    dims.map((d) => order.indexOf(d)),
  );
}

export const resamplingOps: CommonMappings = {
  resample: resampling(false),
  resampleGrad: resampling(true),
};
