/** Ops written as plainly as can be, on flat arrays: what the kernels must give. */

import type { Attrs } from '../../../runtime/device/kernel-op.ts';
import type { Shape } from '../../../runtime/spec/shape.ts';

export interface Nd {
  readonly shape: Shape;
  /** Row-major. */
  readonly values: readonly number[];
}

export type Reference = (inputs: readonly Nd[], attrs: Attrs) => number[];
type Index = readonly number[];

/** All indices of a shape in row-major order. */
export function indices(shape: Shape): Index[] {
  return shape.reduce<Index[]>(
    (all, size) => all.flatMap((head) => Array.from({ length: size }, (_, i) => [...head, i])),
    [[]],
  );
}

/** The element at an index; dimensions of size 1 repeat, leading ones may be missing. */
export function at({ shape, values }: Nd, index: Index): number {
  const own = index.slice(index.length - shape.length);
  return values[shape.reduce((flat, size, d) => flat * size + (size === 1 ? 0 : own[d]!), 0)]!;
}

/** 0 outside, as padding is. */
function padded(x: Nd, [n, c, h, w]: Index): number {
  const inside = h! >= 0 && w! >= 0 && h! < x.shape[2]! && w! < x.shape[3]!;
  return inside ? at(x, [n!, c!, h!, w!]) : 0;
}

function largestShape(inputs: readonly Nd[]): number[] {
  const rank = Math.max(...inputs.map(({ shape }) => shape.length));
  return Array.from({ length: rank }, (_, d) =>
    Math.max(...inputs.map(({ shape }) => shape[d - rank + shape.length] ?? 1)),
  );
}

/** A function of one element of each input, and of the attribute `value`. */
export function pointwise(fn: (values: readonly number[], value: number) => number): Reference {
  return (inputs, attrs) =>
    indices(largestShape(inputs)).map((index) =>
      fn(
        inputs.map((input) => at(input, index)),
        attrs.value as number,
      ),
    );
}

/** Gives `fold` the entries that are reduced to each output element. */
export function reduction(fold: (entries: number[]) => number): Reference {
  return ([x], { dims }) => {
    const reduced = dims as readonly number[];
    const kept = x!.shape.map((size, d) => (reduced.includes(d) ? 1 : size));
    return indices(kept).map((index) =>
      fold(
        indices(x!.shape)
          .filter((other) => other.every((i, d) => reduced.includes(d) || i === index[d]))
          .map((other) => at(x!, other)),
      ),
    );
  };
}

/** Gives `fn` each row along the last dimension, of every input. */
export function byRow(fn: (...rows: number[][]) => number[]): Reference {
  return (inputs) => {
    const length = inputs[0]!.shape.at(-1) ?? 1;
    const rows = inputs[0]!.values.length / length;
    return Array.from({ length: rows }, (_, r) =>
      fn(...inputs.map(({ values }) => values.slice(r * length, (r + 1) * length))),
    ).flat();
  };
}

export const matmul: Reference = ([a, b]) => {
  const [m, k] = a!.shape.slice(-2) as [number, number];
  const n = b!.shape.at(-1)!;
  return indices([...a!.shape.slice(0, -2), m, n]).map((index) => {
    const lead = index.slice(0, -2);
    const [i, j] = index.slice(-2) as [number, number];
    return Array.from(
      { length: k },
      (_, p) => at(a!, [...lead, i, p]) * at(b!, [...lead, p, j]),
    ).reduce((x, y) => x + y, 0);
  });
};

interface Window {
  readonly stride: readonly [number, number];
  readonly padding: readonly [number, number];
  readonly dilation: readonly [number, number];
  readonly groups: number;
}

/** Calls `visit` for every product that a convolution sums. */
function convolve(
  x: Shape,
  w: Shape,
  y: Shape,
  attrs: Attrs,
  visit: (x: Index, w: Index, y: Index) => void,
): void {
  const { stride, padding, dilation, groups } = attrs as unknown as Window;
  const perGroup = w[0]! / groups;
  for (const [n, o, i, j] of indices(y) as [number, number, number, number][]) {
    for (const [c, p, q] of indices(w.slice(1)) as [number, number, number][]) {
      const channel = Math.floor(o / perGroup) * w[1]! + c;
      const h = i * stride[0] - padding[0] + p * dilation[0];
      const v = j * stride[1] - padding[1] + q * dilation[1];
      if (h >= 0 && v >= 0 && h < x[2]! && v < x[3]!) {
        visit([n, channel, h, v], [o, c, p, q], [n, o, i, j]);
      }
    }
  }
}

const flatIndex = (shape: Shape, index: Index) =>
  shape.reduce((flat, size, d) => flat * size + index[d]!, 0);

const zeros = (shape: Shape) => new Array<number>(shape.reduce((a, b) => a * b, 1)).fill(0);

/** `output` is the shape that the op inferred. */
export const conv2d =
  (output: Shape): Reference =>
  ([x, w], attrs) => {
    const result = zeros(output);
    convolve(x!.shape, w!.shape, output, attrs, (i, j, k) => {
      result[flatIndex(output, k)]! += padded(x!, i) * at(w!, j);
    });
    return result;
  };

export const conv2dInputGrad: Reference = ([dy, w, x], attrs) => {
  const result = zeros(x!.shape);
  convolve(x!.shape, w!.shape, dy!.shape, attrs, (i, j, k) => {
    result[flatIndex(x!.shape, i)]! += at(dy!, k) * at(w!, j);
  });
  return result;
};

export const conv2dWeightGrad: Reference = ([dy, x, w], attrs) => {
  const result = zeros(w!.shape);
  convolve(x!.shape, w!.shape, dy!.shape, attrs, (i, j, k) => {
    result[flatIndex(w!.shape, j)]! += at(dy!, k) * at(x!, i);
  });
  return result;
};

/** The place in its plane of each window's first maximum. */
export const maxPoolIndices =
  (output: Shape): Reference =>
  ([x], attrs) => {
    const [kernel, stride, padding] = ['kernel', 'stride', 'padding'].map(
      (name) => attrs[name] as unknown as readonly [number, number],
    );
    const width = x!.shape[3]!;
    return (indices(output) as [number, number, number, number][]).map(([n, c, i, j]) => {
      let best = -1;
      let largest = Number.NEGATIVE_INFINITY;
      for (const [p, q] of indices(kernel!) as [number, number][]) {
        const h = i * stride![0] - padding![0] + p;
        const w = j * stride![1] - padding![1] + q;
        if (h < 0 || w < 0 || h >= x!.shape[2]! || w >= width) continue;
        const value = at(x!, [n, c, h, w]);
        if (best >= 0 && value <= largest) continue;
        best = h * width + w;
        largest = value;
      }
      return best;
    });
  };
