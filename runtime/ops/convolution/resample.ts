/** Entries of a dimension as weighted sums of others: interpolation and average pooling, one dimension at a time. */

import * as resamplingKernels from '../../device/cpu/resample.ts';
import { type Attrs, named } from '../../device/kernel-op.ts';
import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { expectOptions } from '../../options/expect-options.ts';
import {
  anyOperand,
  count,
  flag,
  judgedLater,
  oneOf,
  orNull,
  perDimension,
} from '../../options/option-kinds.ts';
import { type Shape, sameShape } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { mul } from '../arithmetic/arithmetic.ts';
import { bind1 } from '../core/bind.ts';
import { casting } from '../core/cast.ts';
import { floating, inferFloat } from '../core/promotion.ts';
import { roundedOnce } from '../core/rounded-once.ts';
import { clone, permute, reshape } from '../movement/movement.ts';
import { equals, quotient } from '../numbers/number-arithmetic.ts';
import { defineOp, type OpRecord, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { expectNumber } from '../record/positional.ts';
import { pooledSize, type WindowSizes, windowSizes } from './window-sizes.ts';

const resamplingRules = {
  dim: 'dim',
  size: 'size',
  mode: { oneOf: ['nearest', 'nearest-exact', 'linear', 'cubic', 'area', 'window'] },
  step: { optional: 'number' },
  alignCorners: { optional: 'boolean' },
  kernel: { optional: 'count' },
  stride: { optional: 'count' },
  padding: { optional: 'size' },
  divisor: { optional: 'number' },
} as const;

/** Whether the positions that the mode computes lie in the operand or are clamped to it. */
function isResampling({ mode, step, kernel, stride, padding, divisor }: Attrs): boolean {
  if (mode === 'area') return true;
  if (mode === 'window') {
    return [kernel, stride, padding, divisor].every((each) => each !== undefined);
  }
  return Number.isFinite(step) && (step as number) >= 0;
}

/** Whether `part` is `whole` with another size of dimension `dim`. */
function isResized(whole: Shape, part: Shape, { dim, size }: Attrs): boolean {
  return sameShape(
    part,
    whole.map((each, d) => (d === dim ? (size as number) : each)),
  );
}

export const resampleOp: OpRecord = defineOp({
  name: 'resample',
  operands: { x: 'data' },
  attrs: resamplingRules,
  fits: (_inputs, attrs) => isResampling(attrs) || 'numbers of the mode',
  infer: ([x], { dim, size }) => ({
    dtype: inferFloat('resample')([x!]).dtype,
    shape: x!.shape.map((item, d) => (d === dim ? (size as number) : item)),
  }),
  kernel: named('resample', resamplingKernels.resample),
  vjp: {
    x: saving({ x: 'shape' }, ({ x }, dy, attrs) =>
      bind1(resampleGradOp, [dy, x as Tensor], attrs),
    ),
  },
});

export const resampleGradOp: OpRecord = defineOp({
  name: 'resampleGrad',
  operands: { dy: 'data', x: 'shape' },
  attrs: resamplingRules,
  fits: ([dy, x], attrs) =>
    (isResampling(attrs) && isResized(x!.shape, dy!.shape, attrs)) ||
    'numbers of the mode, and a gradient of the result',
  dtypes: { dy: 'floating', x: 'ignored' },
  infer: ([dy, x]) => ({ dtype: dy!.dtype, shape: x!.shape }),
  kernel: named('resampleGrad', resamplingKernels.resampleGrad),
  vjp: { dy: saving({}, (_saved, g, attrs) => bind1(resampleOp, [g], attrs)) },
});

type Resampling =
  | { readonly mode: 'nearest' | 'nearest-exact'; readonly step: number }
  | {
      readonly mode: 'linear' | 'cubic';
      readonly step: number;
      readonly alignCorners: boolean;
    }
  | { readonly mode: 'area' }
  | {
      readonly mode: 'window';
      readonly kernel: number;
      readonly stride: number;
      readonly padding: number;
      /** 0: the window's size with padding; −1: without padding; else the divisor itself. */
      readonly divisor: number;
    };

function resampled(x: Tensor, dim: number, size: number, how: Resampling): Tensor {
  return bind1(resampleOp, [x], { dim, size, ...how } as Attrs);
}

// Interpolation

export type InterpolationMode =
  | 'nearest'
  | 'nearest-exact'
  | 'linear'
  | 'bilinear'
  | 'bicubic'
  | 'trilinear'
  | 'area';

export interface InterpolateOptions {
  /** The result's spatial sizes; one number for all of them. */
  readonly size?: number | Shape;
  /** Scale factors, instead of `size`. */
  readonly scaleFactor?: number | readonly number[];
  /** 'nearest' by default. */
  readonly mode?: InterpolationMode;
  /** Whether the outermost values keep their position, in the linear and cubic modes. */
  readonly alignCorners?: boolean;
  /** Computes positions from the sizes rather than from the given factors. */
  readonly recomputeScaleFactor?: boolean;
}

/** The tensor rank that each mode requires; null for any. */
const ranks: { readonly [M in InterpolationMode]: number | null } = {
  nearest: null,
  'nearest-exact': null,
  area: null,
  linear: 3,
  bilinear: 4,
  bicubic: 4,
  trilinear: 5,
};

export const interpolationModes = Object.keys(ranks) as readonly InterpolationMode[];

function resamplingOf(mode: InterpolationMode, step: number, alignCorners: boolean): Resampling {
  if (mode === 'area') return { mode };
  if (mode === 'nearest' || mode === 'nearest-exact') return { mode, step };
  return { mode: mode === 'bicubic' ? 'cubic' : 'linear', step, alignCorners };
}

function forEach(value: number | readonly number[], count: number): readonly number[] {
  return typeof value === 'number' ? new Array<number>(count).fill(value) : value;
}

const interpolateOptions = {
  size: perDimension(count(0)),
  scaleFactor: perDimension(anyOperand),
  mode: oneOf(...interpolationModes),
  alignCorners: orNull(flag),
  recomputeScaleFactor: orNull(flag),
};

/** Resizes the spatial dimensions of [n, c, …] by interpolation. */
export function interpolate(x: Tensor, options: InterpolateOptions): Tensor {
  expectTensors('interpolate', x);
  expectOptions('interpolate', options, interpolateOptions);
  const { size, scaleFactor, mode = 'nearest', alignCorners = false } = options;
  const count = x.rank - 2;
  const fits = count >= 1 && count <= 3 && (ranks[mode] ?? x.rank) === x.rank;
  if (!fits || (size === undefined) === (scaleFactor === undefined)) {
    throw new ArgumentError({
      what: 'interpolate: no such resampling',
      given: `mode ${mode} of ${formatSpec(x)}, size ${size}, scaleFactor ${scaleFactor}`,
      expected: `either size or scaleFactor, and [n, c, …] with ${ranks[mode] ?? '3 to 5'} dimensions`,
      remedy: "'linear' takes 3 dimensions, 'bilinear' and 'bicubic' 4, 'trilinear' 5",
    });
  }
  if (alignCorners && ranks[mode] === null) {
    throw new ArgumentError({
      what: 'interpolate: alignCorners has no effect in this mode',
      given: `mode ${mode}, alignCorners true`,
      expected: "'linear', 'bilinear', 'bicubic' or 'trilinear'",
      remedy: 'leave alignCorners out',
    });
  }
  const factors = scaleFactor === undefined ? null : forEach(scaleFactor, count);
  const sizes = factors
    ? factors.map((factor, i) => Math.floor(x.shape[i + 2]! * factor))
    : forEach(size!, count);
  expectSizes('interpolate', x, sizes, count);
  const givenSteps = options.recomputeScaleFactor ? null : factors;
  // As in PyTorch, sizes count, and not factors, where linear modes keep a size, or `nearest` of images keeps or doubles one.
  const isPlain = mode.endsWith('linear') || (mode === 'nearest' && count === 2);
  return inFloat(x, (converted) => {
    const result = sizes.reduce((current, to, i) => {
      const from = x.shape[i + 2]!;
      const isWhole = isPlain && (to === from || (mode === 'nearest' && to === 2 * from));
      const step = alignCorners
        ? (from - 1) / Math.max(to - 1, 1)
        : givenSteps && !isWhole
          ? 1 / givenSteps[i]!
          : from / to;
      if (to === from && step === 1) return current;
      return resampled(current, i + 2, to, resamplingOf(mode, step, alignCorners));
    }, converted);
    return result === converted ? clone(converted) : result;
  });
}

function expectSizes(name: string, x: Tensor, sizes: readonly number[], count: number): void {
  const whole = sizes.every((size) => Number.isInteger(size) && size >= 1);
  if (whole && sizes.length === count && !x.shape.slice(x.rank - count).includes(0)) return;
  throw new ShapeError({
    what: `${name}: no such sizes`,
    given: `${formatSpec(x)} to [${sizes.join(',')}]`,
    expected: `${count} integers from 1 on, and an input that has entries in these dimensions`,
    remedy: 'pass one size per spatial dimension',
  });
}

function inFloat(x: Tensor, body: (converted: Tensor) => Tensor): Tensor {
  return tidy(() =>
    casting([x], floating(x.dtype), ([own]) => roundedOnce([own!], (wide) => body(wide))),
  );
}

// Average pooling

export interface AvgPoolOptions<Size> {
  /** Defaults to the window size. */
  readonly stride?: Size;
  /** Zeros added on each side, 0 by default. */
  readonly padding?: Size;
  /** Whether the last window may extend past the end. */
  readonly ceilMode?: boolean;
  /** Whether the zero padding counts in the mean. True by default. */
  readonly countIncludePad?: boolean;
  /** Divides the sums by this instead of the number of elements. */
  readonly divisorOverride?: number | null;
}

/** Averages the last `count` dimensions one by one, because means over windows are separable. */
function averaged(
  name: string,
  x: Tensor,
  sizes: readonly WindowSizes[],
  { countIncludePad = true, divisorOverride = null }: AvgPoolOptions<unknown>,
): Tensor {
  if (divisorOverride !== null && equals(divisorOverride, 0)) {
    throw new ArgumentError({
      what: `${name}: a division by 0`,
      given: 'divisorOverride 0',
      expected: 'another number, or none',
      remedy: 'leave it out for the mean',
    });
  }
  const divisor = divisorOverride !== null ? 1 : countIncludePad ? 0 : -1;
  const first = x.rank - sizes.length;
  return inFloat(x, (converted) => {
    const sums = sizes.reduce((current, { kernel, stride, padding, out }, i) => {
      const how = { mode: 'window', kernel, stride, padding, divisor } as const;
      return resampled(current, first + i, out, how);
    }, converted);
    return divisorOverride === null ? sums : mul(sums, quotient(1, divisorOverride));
  });
}

const avgPoolOptions = {
  stride: judgedLater,
  padding: judgedLater,
  ceilMode: flag,
  countIncludePad: flag,
  divisorOverride: orNull(anyOperand),
};

/** Defines `avgPool1d`, `avgPool2d` and `avgPool3d`. */
function avgPool<Size>(name: string, count: number) {
  return (x: Tensor, kernel: Size, options: AvgPoolOptions<Size> = {}): Tensor => {
    expectOptions(name, options, avgPoolOptions);
    const sizes = windowSizes(name, x, count, {
      kernel,
      stride: options.stride ?? kernel,
      padding: options.padding ?? 0,
      dilation: 1,
      ceilMode: options.ceilMode ?? false,
    });
    return averaged(name, x, sizes, options);
  };
}

type Pair = readonly [number, number];
type Triple = readonly [number, number, number];

/** The means of windows of […, length]. */
export const avgPool1d = avgPool<number>('avgPool1d', 1);
/** The means of windows of […, h, w]. */
export const avgPool2d = avgPool<number | Pair>('avgPool2d', 2);
/** The means of windows of […, d, h, w]. */
export const avgPool3d = avgPool<number | Triple>('avgPool3d', 3);

/** Defines an adaptive average pooling; null keeps a dimension's size. */
function adaptiveAvgPool<Size>(name: string, count: number) {
  return (x: Tensor, size: Size): Tensor => {
    const sizes = pooledSize(name, x, count, size);
    const first = x.rank - count;
    return inFloat(x, (converted) => {
      const result = sizes.reduce(
        (current, to, i) =>
          to === x.shape[first + i] ? current : resampled(current, first + i, to, { mode: 'area' }),
        converted,
      );
      return result === converted ? clone(converted) : result;
    });
  };
}

/** The means of equal parts of the last dimension, one part per entry of the result. */
export const adaptiveAvgPool1d = adaptiveAvgPool<number | readonly [number]>(
  'adaptiveAvgPool1d',
  1,
);
/** The means of equal parts of the last two dimensions; null keeps a size. */
export const adaptiveAvgPool2d = adaptiveAvgPool<number | readonly [number | null, number | null]>(
  'adaptiveAvgPool2d',
  2,
);
/** The means of equal parts of the last three dimensions. */
export const adaptiveAvgPool3d = adaptiveAvgPool<
  number | readonly [number | null, number | null, number | null]
>('adaptiveAvgPool3d', 3);

/** Moves channels into positions: [n, c · r², h, w] → [n, c, h · r, w · r]. */
export function pixelShuffle(x: Tensor, factor: number): Tensor {
  expectTensors('pixelShuffle', x);
  expectNumber('pixelShuffle', 'factor', factor);
  const [channels = -1, h = 0, w = 0] = x.shape.slice(-3);
  expectFactor('pixelShuffle', x, factor, channels % (factor * factor) === 0);
  const lead = x.shape.slice(0, -3);
  const c = channels / factor ** 2;
  return tidy(() => {
    const parts = reshape(x, [...lead, c, factor, factor, h, w]);
    const at = lead.length;
    const order = [0, 3, 1, 4, 2].map((d) => d + at);
    return reshape(clone(permute(parts, [...lead.keys(), ...order])), [
      ...lead,
      c,
      h * factor,
      w * factor,
    ]);
  });
}

/** Moves positions into channels, the inverse of `pixelShuffle`. */
export function pixelUnshuffle(x: Tensor, factor: number): Tensor {
  expectTensors('pixelUnshuffle', x);
  expectNumber('pixelUnshuffle', 'factor', factor);
  const [c = 0, h = -1, w = -1] = x.shape.slice(-3);
  expectFactor('pixelUnshuffle', x, factor, h % factor === 0 && w % factor === 0);
  const lead = x.shape.slice(0, -3);
  return tidy(() => {
    const parts = reshape(x, [...lead, c, h / factor, factor, w / factor, factor]);
    const at = lead.length;
    const order = [0, 2, 4, 1, 3].map((d) => d + at);
    const shape = [...lead, c * factor ** 2, h / factor, w / factor];
    return reshape(clone(permute(parts, [...lead.keys(), ...order])), shape);
  });
}

function expectFactor(name: string, x: Tensor, factor: number, divides: boolean): void {
  if (x.rank >= 3 && Number.isInteger(factor) && factor >= 1 && divides) return;
  throw new ShapeError({
    what: `${name}: the factor doesn't divide the tensor`,
    given: `factor ${factor} for ${formatSpec(x)}`,
    expected: '[…, channels, h, w] whose channels (or positions) the factor divides',
    remedy: 'check the factor and the order of the dimensions',
  });
}
