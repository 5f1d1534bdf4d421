/** Naive references of normalization, resampling, running extremes and other kernels along dimensions. */

import type { Attrs } from '../../../runtime/device/kernel-op.ts';
import type { DType } from '../../../runtime/spec/dtype.ts';
import type { Shape } from '../../../runtime/spec/shape.ts';
import { at, indices, type Nd, type Reference } from './reference.ts';

interface Input {
  readonly shape: Shape;
  readonly dtype: DType;
  readonly range: readonly [low: number, high: number];
}

interface Case {
  readonly inputs: readonly Input[];
  readonly attrs: Attrs;
  readonly reference: Reference;
}

const float = (...shape: number[]): Input => ({ shape, dtype: 'float32', range: [-2, 2] });
const int = (high: number, ...shape: number[]): Input => ({
  shape,
  dtype: 'int32',
  range: [0, high],
});

const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;

// Normalization: x is read in the shape of attr `view`

const layer = { view: [6, 4], over: [1], weightShape: [4], eps: 0.1, centered: true };
const rms = { ...layer, centered: false };
const batch = { view: [3, 2, 4], over: [0, 2], weightShape: [2, 1], eps: 0.1, centered: true };
const group = {
  view: [2, 2, 3, 2],
  over: [2, 3],
  weightShape: [2, 3, 1],
  eps: 0.1,
  centered: true,
};

type Grouped = typeof layer;

/** Per element of the view: its normalized value, and its weight's number. */
function normalized(x: Nd, attrs: Attrs) {
  const { view, over, weightShape, eps, centered } = attrs as unknown as Grouped;
  const own = { shape: view, values: x.values };
  const numbers = {
    shape: weightShape,
    values: Array.from({ length: weightShape.reduce((a, b) => a * b, 1) }, (_, i) => i),
  };
  const all = indices(view);
  return all.map((index) => {
    const isOfGroup = (other: readonly number[]) =>
      other.every((i, d) => over.includes(d) || i === index[d]);
    const members = all.flatMap((other, i) => (isOfGroup(other) ? [i] : []));
    const values = members.map((i) => x.values[i]!);
    const center = centered ? mean(values) : 0;
    const scale = 1 / Math.sqrt(mean(values.map((v) => (v - center) ** 2)) + eps);
    const weight = at(numbers, index);
    return { weight, value: (at(own, index) - center) * scale };
  });
}

const standardized: Reference = ([x, weight, bias], attrs) =>
  normalized(x!, attrs).map(
    ({ value, weight: w }) =>
      value * (weight ? weight.values[w]! : 1) + (bias ? bias.values[w]! : 0),
  );

// Resampling: a matrix of taps, one row per entry of the result

function weightsOf(size: number, attrs: Attrs): number[][] {
  const { mode } = attrs;
  const [step, kernel, stride, padding, divisor] = [
    'step',
    'kernel',
    'stride',
    'padding',
    'divisor',
  ].map((name) => (attrs[name] ?? 0) as number) as [number, number, number, number, number];
  const count = attrs.size as number;
  const row = () => new Array<number>(size).fill(0);
  return Array.from({ length: count }, (_, i) => {
    const weights = row();
    const add = (index: number, weight: number) => {
      weights[Math.min(size - 1, Math.max(0, index))]! += weight;
    };
    const place = attrs.alignCorners ? i * step : (i + 0.5) * step - 0.5;
    if (mode === 'nearest') add(Math.floor(i * step), 1);
    else if (mode === 'nearest-exact') add(Math.floor((i + 0.5) * step), 1);
    else if (mode === 'linear') {
      const from = Math.max(0, place);
      add(Math.floor(from), 1 - (from % 1));
      add(Math.floor(from) + 1, from % 1);
    } else if (mode === 'cubic') {
      const low = Math.floor(place);
      for (let k = low - 1; k <= low + 2; k++) {
        const d = Math.abs(place - k);
        const near = 1.25 * d ** 3 - 2.25 * d ** 2 + 1;
        add(k, d <= 1 ? near : -0.75 * d ** 3 + 3.75 * d ** 2 - 6 * d + 3);
      }
    } else {
      const area = mode === 'area';
      const start = area ? Math.floor((i * size) / count) : i * stride - padding;
      const end = area
        ? Math.ceil(((i + 1) * size) / count)
        : Math.min(start + kernel, size + padding);
      const inside = row().map((_, k) => k >= start && k < end);
      const number = inside.filter(Boolean).length;
      const by = area || divisor < 0 ? number : divisor === 0 ? end - start : divisor;
      inside.forEach((is, k) => {
        if (is) weights[k] = 1 / by;
      });
    }
    return weights;
  });
}

const resampled: Reference = ([x], attrs) => {
  const dim = attrs.dim as number;
  const rows = weightsOf(x!.shape[dim]!, attrs);
  const shape = x!.shape.map((size, d) => (d === dim ? rows.length : size));
  return indices(shape).map((index) =>
    rows[index[dim]!]!.reduce(
      (sum, weight, k) =>
        sum +
        weight *
          at(
            x!,
            index.map((own, d) => (d === dim ? k : own)),
          ),
      0,
    ),
  );
};

const resampledGradient: Reference = ([dy, x], attrs) => {
  const dim = attrs.dim as number;
  const rows = weightsOf(x!.shape[dim]!, attrs);
  return indices(x!.shape).map((index) =>
    rows.reduce(
      (sum, row, i) =>
        sum +
        row[index[dim]!]! *
          at(
            dy!,
            index.map((own, d) => (d === dim ? i : own)),
          ),
      0,
    ),
  );
};

const resamplings: readonly Attrs[] = [
  { mode: 'nearest', step: 5 / 3, size: 3 },
  { mode: 'nearest-exact', step: 5 / 7, size: 7 },
  { mode: 'linear', step: 5 / 7, alignCorners: false, size: 7 },
  { mode: 'linear', step: 4 / 6, alignCorners: true, size: 7 },
  { mode: 'cubic', step: 5 / 3, alignCorners: false, size: 3 },
  { mode: 'cubic', step: 4 / 8, alignCorners: true, size: 9 },
  { mode: 'area', size: 3 },
  { mode: 'area', size: 7 },
  { mode: 'window', kernel: 3, stride: 2, padding: 1, divisor: 0, size: 3 },
  { mode: 'window', kernel: 3, stride: 2, padding: 1, divisor: -1, size: 3 },
  { mode: 'window', kernel: 2, stride: 2, padding: 0, divisor: 1, size: 3 },
];

const alongBoth = (
  inputs: (shape: Shape, size: number, dim: number) => Input[],
  reference: Reference,
) =>
  resamplings.flatMap((attrs) =>
    [0, 1].map((dim) => ({
      inputs: inputs(dim === 0 ? [5, 3] : [3, 5], attrs.size as number, dim),
      attrs: { ...attrs, dim },
      reference,
    })),
  );

const replaced = (shape: Shape, dim: number, size: number) =>
  shape.map((own, d) => (d === dim ? size : own));

// Along a dimension

function upTo(fn: (row: number[]) => number): Reference {
  return ([x], { dim }) =>
    indices(x!.shape).map((index) =>
      fn(
        Array.from({ length: index[dim as number]! + 1 }, (_, k) =>
          at(
            x!,
            index.map((own, d) => (d === dim ? k : own)),
          ),
        ),
      ),
    );
}

const logSum = (row: number[]) => Math.log(row.reduce((sum, x) => sum + Math.exp(x), 0));
const combine: Readonly<Record<string, (a: number, b: number) => number>> = {
  prod: (a, b) => a * b,
  max: Math.max,
  min: Math.min,
};

const scatterReduced: Reference = ([x, index, source], attrs) => {
  const dim = attrs.dim as number;
  const out = [...x!.values];
  const touched = new Set<number>();
  indices(index!.shape).forEach((place) => {
    const target = place.map((own, d) => (d === dim ? at(index!, place) : own));
    const flat = target.reduce((sum, own, d) => sum * x!.shape[d]! + own, 0);
    const first = !attrs.includeSelf && !touched.has(flat);
    const value = at(source!, place);
    out[flat] = first ? value : combine[attrs.reduce as string]!(out[flat]!, value);
    touched.add(flat);
  });
  return out;
};

const window = { stride: [2, 1], padding: [1, 0], dilation: [1, 2], groups: 2, size: [4, 5] };

/** Every product goes where the convolution would have read it. */
const transposedConv: Reference = ([x, w]) => {
  const [n, c, h, wide] = x!.shape as [number, number, number, number];
  const [, perGroup, kh, kw] = w!.shape as [number, number, number, number];
  const [outH, outW] = window.size as [number, number];
  const channels = perGroup * window.groups;
  const out = new Array<number>(n * channels * outH * outW).fill(0);
  for (const [b, i, y, z] of indices([n, c, h, wide])) {
    for (const [o, ky, kx] of indices([perGroup, kh, kw])) {
      const top = y! * window.stride[0]! - window.padding[0]! + ky! * window.dilation[0]!;
      const left = z! * window.stride[1]! - window.padding[1]! + kx! * window.dilation[1]!;
      if (top < 0 || left < 0 || top >= outH || left >= outW) continue;
      const group = Math.floor(i! / (c / window.groups));
      const to = ((b! * channels + group * perGroup + o!) * outH + top) * outW + left;
      out[to]! += at(x!, [b!, i!, y!, z!]) * at(w!, [i!, o!, ky!, kx!]);
    }
  }
  return out;
};

/** The largest of as equal parts as there are. */
const adaptiveMax: Reference = ([x], { size }) => {
  const [oh, ow] = size as [number, number];
  const [n, c, h, w] = x!.shape as [number, number, number, number];
  return indices([n, c, oh, ow]).map(([b, i, y, z]) => {
    let most = Number.NEGATIVE_INFINITY;
    for (let r = Math.floor((y! * h) / oh); r < Math.ceil(((y! + 1) * h) / oh); r++) {
      for (let k = Math.floor((z! * w) / ow); k < Math.ceil(((z! + 1) * w) / ow); k++) {
        most = Math.max(most, at(x!, [b!, i!, r, k]));
      }
    }
    return most;
  });
};

const dims = [0, 1] as const;

export const layerCases: Readonly<Record<string, readonly Case[]>> = {
  standardize: [layer, rms, batch, group].map((attrs) => ({
    inputs: [float(...attrs.view)],
    attrs,
    reference: standardized,
  })),
  standardizeAffine: [layer, rms, batch, group].map((attrs) => {
    const count = attrs.weightShape.reduce((a, b) => a * b, 1);
    return {
      inputs: [float(...attrs.view), float(count), float(count)],
      attrs,
      reference: standardized,
    };
  }),
  resample: alongBoth((shape) => [float(...shape)], resampled),
  resampleGrad: alongBoth(
    (shape, size, dim) => [float(...replaced(shape, dim, size)), float(...shape)],
    resampledGradient,
  ),
  cummax: dims.map((dim) => ({
    inputs: [float(3, 4)],
    attrs: { dim },
    reference: upTo((row) => Math.max(...row)),
  })),
  cummin: dims.map((dim) => ({
    inputs: [int(5, 3, 4)],
    attrs: { dim },
    reference: upTo((row) => Math.min(...row)),
  })),
  logcumsumexp: dims.map((dim) => ({
    inputs: [float(3, 4)],
    attrs: { dim },
    reference: upTo(logSum),
  })),
  // For any out, as the op sees it.
  logcumsumexpGrad: dims.map((dim) => ({
    inputs: [float(3, 4), float(3, 4), float(3, 4)],
    attrs: { dim },
    reference: ([dy, x, out]: readonly Nd[]) =>
      indices([3, 4]).map((index) => {
        const row = (own: Nd, k: number) =>
          at(
            own,
            index.map((i, d) => (d === dim ? k : i)),
          );
        let sum = 0;
        for (let k = index[dim]!; k < [3, 4][dim]!; k++) {
          sum += row(dy!, k) * Math.exp(at(x!, index) - row(out!, k));
        }
        return sum;
      }),
  })),
  scatterReduce: ['prod', 'max', 'min'].flatMap((reduce) =>
    [true, false].map((includeSelf) => ({
      inputs: [float(4, 5), int(4, 3, 5), float(3, 5)],
      attrs: { dim: 0, reduce, includeSelf },
      reference: scatterReduced,
    })),
  ),
  convTranspose2d: [
    { inputs: [float(2, 4, 2, 3), float(4, 3, 3, 2)], attrs: window, reference: transposedConv },
  ],
  adaptiveMaxPool2d: [
    { inputs: [float(2, 2, 5, 4)], attrs: { size: [2, 3] }, reference: adaptiveMax },
  ],
};
