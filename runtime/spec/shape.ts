import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { plural } from '../errors/plural.ts';

export type Shape = readonly number[];

export function sizeOf(shape: Shape): number {
  let size = 1;
  for (const dim of shape) size *= dim;
  return size;
}

/** Returns row-major strides, in elements. */
export function contiguousStrides(shape: Shape): number[] {
  const strides = new Array<number>(shape.length);
  let stride = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= shape[i]!;
  }
  return strides;
}

/** Returns the dimensions in memory order, largest stride first. */
export function memoryOrder(strides: readonly number[]): number[] {
  return strides.map((_, dim) => dim).sort((a, b) => strides[b]! - strides[a]! || a - b);
}

/** Returns strides without gaps, keeping the dimensions' memory order. */
export function compactStrides(shape: Shape, strides: readonly number[]): number[] {
  const order = memoryOrder(strides);
  const ordered = contiguousStrides(order.map((dim) => shape[dim]!));
  const compact = new Array<number>(shape.length);
  order.forEach((dim, at) => {
    compact[dim] = ordered[at]!;
  });
  return compact;
}

/** Whether the elements cover a range of memory without gaps or overlap, under some permutation of the dimensions. */
export function isDense(shape: Shape, strides: Shape): boolean {
  const order = memoryOrder(strides);
  return isContiguous(
    order.map((dim) => shape[dim]!),
    order.map((dim) => strides[dim]!),
  );
}

/** Whether elements are in row-major order without gaps; the stride of a dimension of size 1 is irrelevant. */
export function isContiguous(shape: Shape, strides: readonly number[]): boolean {
  let expected = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    const dim = shape[i]!;
    if (dim === 0) return true;
    if (dim !== 1 && strides[i] !== expected) return false;
    expected *= dim;
  }
  return true;
}

export function sameShape(a: Shape, b: Shape): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

export function formatShape(shape: Shape): string {
  // Avoids a TypeError for symbols passed from untyped JavaScript.
  return `[${shape.map(String).join(',')}]`;
}

/** Broadcasts by NumPy's rule: aligned at the last dimension, sizes must be equal or 1. Throws ShapeError. */
export function broadcastShapes(a: Shape, b: Shape, op: string): Shape {
  if (sameShape(a, b)) return a;
  const rank = Math.max(a.length, b.length);
  const result = new Array<number>(rank);
  for (let i = 1; i <= rank; i++) {
    const x = a[a.length - i] ?? 1;
    const y = b[b.length - i] ?? 1;
    if (x !== y && x !== 1 && y !== 1) {
      throw new ShapeError({
        what: `${op}: the shapes don't broadcast`,
        given: `${formatShape(a)} and ${formatShape(b)}`,
        expected: `equal sizes, or 1, in each dimension counted from the last (dimension -${i} has ${x} and ${y})`,
        remedy: 'reshape, unsqueeze or transpose one of the tensors',
      });
    }
    result[rank - i] = x === 1 ? y : x;
  }
  return result;
}

/** Returns strides for reading a tensor as if it had the larger shape `to`: repeated dimensions get stride 0. */
export function broadcastStrides(shape: Shape, strides: readonly number[], to: Shape): number[] {
  const lead = to.length - shape.length;
  return to.map((dim, i) => {
    const own = i - lead;
    return own < 0 || (shape[own] === 1 && dim !== 1) ? 0 : strides[own]!;
  });
}

/**
 * Returns strides for viewing a tensor in another shape with the same number of elements; null if that requires a
 * copy. Runs of contiguous dimensions may be split differently.
 */
export function viewStrides(
  shape: Shape,
  strides: readonly number[],
  to: Shape,
): readonly number[] | null {
  if (shape.length === 0 || sizeOf(shape) === 0) return contiguousStrides(to);
  const result = new Array<number>(to.length);
  let next = to.length - 1;
  let step = strides.at(-1)!;
  let run = 1;
  for (let dim = shape.length - 1; dim >= 0; dim--) {
    run *= shape[dim]!;
    if (dim > 0 && (shape[dim - 1] === 1 || strides[dim - 1] === run * step)) continue;
    let taken = 1;
    while (next >= 0 && (taken < run || to[next] === 1)) {
      result[next] = taken * step;
      taken *= to[next--]!;
    }
    if (taken !== run) return null;
    if (dim > 0) step = strides[dim - 1]!;
    run = 1;
  }
  return result;
}

/** Returns a dimension counted from the front; negative ones are counted from the back. */
export function normalizeDim(dim: number, rank: number, op: string): number {
  // A scalar counts as one-dimensional, as in PyTorch.
  const count = Math.max(rank, 1);
  const isWhole = Number.isInteger(dim);
  const result = isWhole && dim < 0 ? dim + count : dim;
  if (!isWhole || result < 0 || result >= count) {
    throw new ArgumentError({
      what: `${op}: no such dimension`,
      given: `dimension ${shownDim(dim)} of a tensor with ${plural(rank, 'dimension')}`,
      expected: rank === 0 ? '0 or -1' : `an integer from ${-rank} to ${rank - 1}`,
      remedy:
        typeof dim === 'object'
          ? 'write the number itself, without an object around it'
          : 'count dimensions from 0, or from -1 backwards',
    });
  }
  return result;
}

/** Returns dimensions counted from the front. Throws ArgumentError if one appears twice. */
export function normalizeDims(dims: readonly number[], rank: number, op: string): number[] {
  const list = dims.map((dim) => normalizeDim(dim, rank, op));
  if (new Set(list).size === list.length) return list;
  throw new ArgumentError({
    what: `${op}: a dimension appears twice`,
    given: formatShape(dims),
    expected: 'each dimension at most once',
    remedy: 'leave the second one out',
  });
}

/** Untyped JavaScript may pass any value. */
const shownDim = (dim: unknown): string =>
  typeof dim === 'string'
    ? `'${dim}'`
    : typeof dim !== 'object' || dim === null
      ? String(dim)
      : Array.isArray(dim)
        ? `[${dim.map(String).join(', ')}]`
        : `{ ${Object.keys(dim).join(', ')} }`;

/** Returns the number of elements that a tensor spans in memory, from its first to its last. */
export function extentOf(shape: Shape, strides: readonly number[]): number {
  if (sizeOf(shape) === 0) return 0;
  return shape.reduce((sum, size, d) => sum + (size - 1) * strides[d]!, 1);
}
