import type { SizeExpr } from '../../../runtime/save/size-expr.ts';

/** A size of a tensor: a number, or an expression of the sizes of a call. */
export type Dim = SizeExpr;

export type Dims = readonly Dim[];

export const isFixed = (dim: Dim): dim is number => typeof dim === 'number';

/** The sizes as numbers; null if one depends on the call. */
export function fixedDims(dims: Dims): readonly number[] | null {
  return dims.every(isFixed) ? dims : null;
}

export const sameDim = (a: Dim, b: Dim): boolean =>
  a === b || (typeof a === 'object' && JSON.stringify(a) === JSON.stringify(b));

export function sameDims(a: Dims, b: Dims): boolean {
  return a.length === b.length && a.every((dim, i) => sameDim(dim, b[i]!));
}

/** Symbolic sizes are never 1 where they are broadcast: shape inference has ensured that. */
export function broadcastDims(...shapes: readonly Dims[]): Dims {
  const rank = Math.max(0, ...shapes.map(({ length }) => length));
  return Array.from({ length: rank }, (_, d) => {
    const own = shapes.flatMap((shape) => {
      const dim = shape[d - rank + shape.length];
      return dim === undefined || dim === 1 ? [] : [dim];
    });
    return own[0] ?? 1;
  });
}

function apply(fn: '+' | '-' | '*', a: Dim, b: Dim): Dim {
  if (!isFixed(a) || !isFixed(b)) return [fn, a, b];
  return fn === '+' ? a + b : fn === '-' ? a - b : a * b;
}

export const addDims = (a: Dim, b: Dim): Dim => (b === 0 ? a : a === 0 ? b : apply('+', a, b));
export const subtractDims = (a: Dim, b: Dim): Dim =>
  b === 0 ? a : sameDim(a, b) ? 0 : apply('-', a, b);
export const multiplyDims = (a: Dim, b: Dim): Dim => (a === 1 ? b : b === 1 ? a : apply('*', a, b));
export const sizeOfDims = (dims: Dims): Dim => dims.reduce(multiplyDims, 1);
