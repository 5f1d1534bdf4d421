/**
 * (x − mean) / √(variance + eps) over groups of elements, with weight and bias: the kernel shared by batch, layer,
 * group, instance and RMS norm. Backward keeps the input and two numbers per group.
 */

import { gradEnabled } from '../../autograd/grad-mode.ts';
import * as standardizationKernels from '../../device/cpu/standardize.ts';
import { type Attrs, named } from '../../device/kernel-op.ts';
import type { RowCut, RowSlice } from '../../device/staged-body.ts';
import {
  formatSpec,
  isContiguousMeta,
  type TensorMeta,
  type TensorSpec,
} from '../../device/tensor-meta.ts';
import { DTypeError, ShapeError } from '../../errors/errors.ts';
import { formatShape, type Shape, sizeOf } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, mul, sub } from '../arithmetic/arithmetic.ts';
import { rsqrt } from '../arithmetic/functions.ts';
import { bind, bind1 } from '../core/bind.ts';
import { cast, casting } from '../core/cast.ts';
import { roundedOnce, wide } from '../core/rounded-once.ts';
import { contiguous, reshape, select } from '../movement/movement.ts';
import { fullLike } from '../movement/ranges.ts';
import { negated } from '../numbers/number-arithmetic.ts';
import { reciprocal } from '../pointwise/powers.ts';
import { defineOp, type OpRecord, saving } from '../record/define-op.ts';
import type { RowRule } from '../record/row-cuts.ts';
import { mean, sum } from '../reduce/reduce.ts';

/** The partition of a tensor into groups. */
export interface Grouping {
  /** The tensor's shape with some dimensions to be reduced. */
  readonly view: Shape;
  /** The dimensions of `view` that each mean covers: the last ones, or the first and the last. */
  readonly over: readonly number[];
  /** The weights' shape, which broadcasts to `view`. */
  readonly weightShape: Shape;
  readonly eps: number;
  /** Whether to subtract the mean; otherwise only divides by the root mean square. */
  readonly centered: boolean;
}

const groupingRules = {
  view: 'sizes',
  over: 'sizes',
  weightShape: 'sizes',
  eps: 'number',
  centered: 'boolean',
} as const;

const attrsOf = (grouping: Grouping): Attrs => ({ ...grouping });
const groupingOf = (attrs: Attrs): Grouping => attrs as unknown as Grouping;

function inferStandardized([x]: readonly TensorMeta[], attrs: Attrs) {
  const { view, over } = groupingOf(attrs);
  const groups = sizeOf(view.filter((_, d) => !over.includes(d)));
  // Statistics of half-precision tensors stay in float32, for backward and running values.
  return [
    { dtype: x!.dtype, shape: x!.shape },
    { dtype: wide(x!.dtype), shape: [groups, 2] },
  ];
}

interface Grouped {
  readonly x: TensorMeta;
  readonly stats?: TensorMeta;
  readonly weight?: TensorMeta;
}

/** Requires that the groups, which the kernel walks by, cover the operand, and that statistics and weights fit. */
function fitsGrouping({ x, stats, weight }: Grouped, attrs: Attrs): true | string {
  const { view, over, weightShape } = groupingOf(attrs);
  const areDims = new Set(over).size === over.length && over.every((dim) => dim < view.length);
  const lead = view.length - weightShape.length;
  const isWeighed =
    lead >= 0 && weightShape.every((size, d) => size === 1 || size === view[lead + d]);
  const groups = sizeOf(view.filter((_, d) => !over.includes(d)));
  const fits =
    sizeOf(view) === sizeOf(x.shape) &&
    areDims &&
    isWeighed &&
    (!stats || sizeOf(stats.shape) === 2 * groups) &&
    (!weight || sizeOf(weight.shape) === sizeOf(weightShape));
  return fits || 'groups that cover the operand, with their statistics and weights';
}

/** Cuts into consecutive groups if contiguous with repeating weights; `sliced` tells which operands are cut. */
function groupRows(sliced: readonly boolean[]): RowRule {
  return (inputs, outputs, attrs) => {
    const grouping = groupingOf(attrs);
    const { view, over, weightShape } = grouping;
    if (![...inputs, ...outputs].every(isContiguousMeta)) return [];
    const weighed = weightShape.findIndex((size) => size !== 1);
    const firstWeighed = weighed < 0 ? view.length : view.length - weightShape.length + weighed;
    const cuts: RowCut[] = [];
    for (let lead = Math.min(over[0] ?? 0, firstWeighed); lead >= 1; lead--) {
      const count = sizeOf(view.slice(0, lead));
      if (count < 2) continue;
      const slice = ({ shape }: TensorMeta): RowSlice => {
        const size = sizeOf(shape) / count;
        return { step: size, shape: [size], strides: [1] };
      };
      const inside = view.slice(lead);
      const trimmed = weightShape.slice(Math.max(0, weightShape.length - inside.length));
      cuts.push({
        count,
        inputs: inputs.map((meta, i) => (sliced[i] ? slice(meta) : null)),
        outputs: outputs.map(slice),
        attrs: (rows) => ({
          ...attrs,
          view: [rows, ...inside],
          over: over.map((dim) => dim - lead + 1),
          weightShape: trimmed,
        }),
        least: 1,
      });
    }
    return cuts;
  };
}

const inputGradient = {
  attrs: groupingRules,
  infer: ([, x]: readonly TensorMeta[]) => ({ dtype: x!.dtype, shape: x!.shape }),
  kernel: named('standardizeGrad', standardizationKernels.standardizeGrad),
  numbers: ['eps'],
  overwrites: ['dy', 'x'],
} as const;

export const gradOp: OpRecord = defineOp({
  ...inputGradient,
  name: 'standardizeGrad',
  operands: { dy: 'data', x: 'data', stats: 'data' },
  fits: ([, x, stats], attrs) => fitsGrouping({ x: x!, stats: stats! }, attrs),
  dtypes: { dy: 'floating', stats: 'wide' },
  rows: groupRows([true, true, true]),
});

export const affineGradOp: OpRecord = defineOp({
  ...inputGradient,
  name: 'standardizeAffineGrad',
  operands: { dy: 'data', x: 'data', stats: 'data', weight: 'data' },
  fits: ([, x, stats, weight], attrs) =>
    fitsGrouping({ x: x!, stats: stats!, weight: weight! }, attrs),
  dtypes: { dy: 'floating', stats: 'wide', weight: 'wide' },
  rows: groupRows([true, true, true, false]),
});

export const weightGradOp: OpRecord = defineOp({
  name: 'standardizeWeightGrad',
  operands: { dy: 'data', x: 'data', stats: 'data', weight: 'shape' },
  attrs: groupingRules,
  fits: ([, x, stats, weight], attrs) =>
    fitsGrouping({ x: x!, stats: stats!, weight: weight! }, attrs),
  dtypes: { dy: 'floating', stats: 'wide', weight: 'wide' },
  infer: ([, , , weight]) => ({ dtype: weight!.dtype, shape: weight!.shape }),
  kernel: named('standardizeWeightGrad', standardizationKernels.standardizeWeightGrad),
  numbers: ['eps'],
});

/**
 * In place: the gradient of layer normalization's weights, continued from the previous rows. Bitwise identical to
 * one sum over all rows. Only the compiler emits it.
 */
export const addStandardizeWeightGradOp = defineOp({
  name: 'addStandardizeWeightGrad_',
  operands: { dw: 'data', dy: 'data', x: 'data', stats: 'data', weight: 'shape' },
  attrs: groupingRules,
  fits: ([, , x, stats, weight], attrs) =>
    fitsGrouping({ x: x!, stats: stats!, weight: weight! }, attrs),
  dtypes: {
    dw: 'float32',
    dy: 'float32',
    x: 'float32',
    stats: 'float32',
    weight: 'ignored',
  },
  infer: ([dw]) => ({ dtype: dw!.dtype, shape: dw!.shape }),
  kernel: named('addStandardizeWeightGrad', standardizationKernels.addStandardizeWeightGrad),
  numbers: ['eps'],
  inPlace: true,
});

const forward = {
  attrs: groupingRules,
  infer: inferStandardized,
  kernel: named('standardize', standardizationKernels.standardize),
  numbers: ['eps'],
} as const;

/** Images one after another, for groups that are channels of a batch and whose statistics are given. */
function imageRows(isSliced: (index: number) => boolean): RowRule {
  return (inputs, outputs, attrs) => {
    const { view, over } = groupingOf(attrs);
    if (over[0] !== 0 || over.length < 2 || view[0]! < 2) return [];
    if (![...inputs, ...outputs].every(isContiguousMeta)) return [];
    const [count, ...image] = view as [number, ...number[]];
    const slice: RowSlice = { step: sizeOf(image), shape: [sizeOf(image)], strides: [1] };
    const rowsOf = (rows: number): Attrs => ({ ...attrs, view: [rows, ...image] });
    const slices = inputs.map((_, i) => (isSliced(i) ? slice : null));
    return [{ count, inputs: slices, outputs: [slice], attrs: rowsOf, least: 1 }];
  };
}

const byStats = {
  attrs: groupingRules,
  infer: ([x]: readonly TensorMeta[]) => ({ dtype: x!.dtype, shape: x!.shape }),
  kernel: named('standardizeByStats', standardizationKernels.standardizeByStats),
  numbers: ['eps'],
  overwrites: ['x'],
  rows: ((inputs, outputs, attrs) => [
    ...groupRows([true, true, false, false])(inputs, outputs, attrs),
    ...imageRows((index) => index === 0)(inputs, outputs, attrs),
  ]) satisfies RowRule,
} as const;

/** Standardizes by given statistics, for values that are recomputed. Written only by the compiler. */
export const byStatsOp = defineOp({
  ...byStats,
  name: 'standardizeByStats',
  operands: { x: 'data', stats: 'data' },
  fits: ([x, stats], attrs) => fitsGrouping({ x: x!, stats: stats! }, attrs),
  dtypes: { x: 'floating', stats: 'wide' },
});

/** The same with weights and biases. Written only by the compiler. */
export const affineByStatsOp = defineOp({
  ...byStats,
  name: 'standardizeAffineByStats',
  operands: { x: 'data', stats: 'data', weight: 'data', bias: 'data' },
  fits: ([x, stats, weight], attrs) =>
    fitsGrouping({ x: x!, stats: stats!, weight: weight! }, attrs),
  dtypes: { x: 'floating', stats: 'wide', weight: 'wide', bias: 'wide' },
});

export const standardizeOp = defineOp({
  ...forward,
  name: 'standardize',
  givenOut1: 'standardizeByStats',
  operands: { x: 'data' },
  fits: ([x], attrs) => fitsGrouping({ x: x! }, attrs),
  dtypes: { x: 'floating' },
  rows: groupRows([true]),
  vjp: {
    x: saving({ x: 'value', out1: 'value' }, ({ x, out1 }, dy, attrs) =>
      gradEnabled()
        ? recordedGradient(dy, x, null, groupingOf(attrs))
        : bind1(gradOp, [dy, x, out1], attrs),
    ),
  },
});

export const affineOp = defineOp({
  ...forward,
  name: 'standardizeAffine',
  givenOut1: 'standardizeAffineByStats',
  operands: { x: 'data', weight: 'data', bias: 'data' },
  fits: ([x, weight], attrs) => fitsGrouping({ x: x!, weight: weight! }, attrs),
  dtypes: { x: 'floating', weight: 'wide', bias: 'wide' },
  rows: groupRows([true, false, false]),
  vjp: {
    x: saving({ x: 'value', out1: 'value', weight: 'value' }, ({ x, out1, weight }, dy, attrs) =>
      gradEnabled()
        ? recordedGradient(dy, x, weight, groupingOf(attrs))
        : bind1(affineGradOp, [dy, x, out1, weight], attrs),
    ),
    weight: saving(
      { x: 'value', out1: 'value', weight: 'shape' },
      ({ x, out1, weight }, dy, attrs) => {
        const grouping = groupingOf(attrs);
        if (!gradEnabled()) return bind1(weightGradOp, [dy, x, out1, weight as Tensor], attrs);
        return roundedOnce(
          [dy, x],
          (g, own) => perWeight(mul(reshape(g, grouping.view), plain(own, grouping).out), grouping),
          weight.dtype,
        );
      },
    ),
    bias: saving({ bias: 'shape' }, ({ bias }, dy, attrs) => {
      const grouping = groupingOf(attrs);
      const own = cast(reshape(dy, grouping.view), bias.dtype);
      return perWeight(own, grouping);
    }),
  },
});

/** Sums the elements that belong to each weight. */
function perWeight(x: Tensor, { view, weightShape }: Grouping): Tensor {
  const lead = view.length - weightShape.length;
  const dims = view.map((_, d) => d).filter((d) => (weightShape[d - lead] ?? 1) === 1);
  return reshape(sum(x, dims), [sizeOf(weightShape)]);
}

const keep = { keepDim: true } as const;

/** Standardizes with other ops, in the shape of `view`. */
function plain(x: Tensor, { view, over, eps, centered }: Grouping) {
  const own = reshape(x, view);
  const center = mean(own, over, keep);
  const distance = centered ? sub(own, center) : own;
  const variance = mean(mul(distance, distance), over, keep);
  const scale = rsqrt(add(variance, eps));
  return { out: mul(distance, scale), scale, center, variance };
}

/** Computes the gradient with ops that can be differentiated again. */
function recordedGradient(
  dy: Tensor,
  x: Tensor,
  weight: Tensor | null,
  grouping: Grouping,
): Tensor {
  return roundedOnce([dy, x, weight], (g, own, by) => gradientOfOps(g, own, by, grouping), x.dtype);
}

function gradientOfOps(dy: Tensor, x: Tensor, weight: Tensor | null, grouping: Grouping): Tensor {
  const { out, scale } = plain(x, grouping);
  const given = reshape(dy, grouping.view);
  const own = weight ? mul(given, reshape(weight, grouping.weightShape)) : given;
  const along = mul(out, mean(mul(own, out), grouping.over, keep));
  const shift = grouping.centered ? sub(own, mean(own, grouping.over, keep)) : own;
  return reshape(mul(scale, sub(shift, along)), x.shape);
}

export interface Standardized {
  readonly out: Tensor;
  /** One mean per group, without gradient history. */
  readonly mean: Tensor;
  readonly variance: Tensor;
}

/** Standardizes by a grouping. Weight and bias have one element per weight, in one or more dimensions. */
export function standardize(
  name: string,
  x: Tensor,
  weight: Tensor | null,
  bias: Tensor | null,
  grouping: Grouping,
): Standardized {
  for (const own of [weight, bias]) if (own) expectWeights(name, own, grouping);
  expectNormDTypes(name, x, { weight, bias });
  const count = sizeOf(grouping.weightShape);
  // If only one of the two is missing, it is filled with ones or zeros.
  const filled = (own: Tensor | null, value: number) =>
    own ? reshape(own, [count]) : fullLike(weight ?? bias ?? x, value, { shape: [count] });
  const affine = weight || bias ? [filled(weight, 1), filled(bias, 0)] : [];
  // GPU kernels support rows with a weight per element, and channels with a single weight each.
  const isGpu = x.device.kind === 'gpu';
  const isWhole = isRows(grouping) || isChannels(grouping);
  if (isGpu && !(x.device.fusesPointwise && isWhole)) return ofOps(x, affine, grouping);
  const isWeighed = isChannels(grouping) || isWeighedByColumn(grouping);
  const isApart = isGpu && affine.length > 0 && !isWeighed;
  const weights = isApart ? [] : affine;
  const [own, stats] = bind(
    weights.length > 0 ? affineOp : standardizeOp,
    [contiguous(x), ...weights],
    attrsOf(grouping),
  );
  const out = isApart ? weighed(own!, affine, grouping) : own;
  const scale = select(stats!, 1, 1);
  const variance = add(reciprocal(mul(scale, scale)), negated(grouping.eps));
  return { out: out!, mean: select(stats!, 1, 0), variance };
}

/** Whether the elements of each group are contiguous. */
function isRows({ view, over }: Grouping): boolean {
  return over.every((dim, i) => dim === view.length - over.length + i);
}

/** Whether each group is a channel of a batch, with a single weight. */
function isChannels({ view, over, weightShape }: Grouping): boolean {
  return view.length === 3 && over.join() === '0,2' && weightShape.join() === `${view[1]},1`;
}

/** Whether each weight belongs to the same position in every group. */
function isWeighedByColumn({ over, view, weightShape }: Grouping): boolean {
  return weightShape.length <= over.length && sizeOf(weightShape) === groupSize({ view, over });
}

const groupSize = ({ view, over }: Pick<Grouping, 'view' | 'over'>): number =>
  sizeOf(over.map((dim) => view[dim]!));

function weighed(x: Tensor, affine: readonly Tensor[], { view, weightShape }: Grouping): Tensor {
  const [weight, bias] = affine.map((own) => reshape(own, weightShape));
  return reshape(add(mul(reshape(x, view), weight!), bias!), x.shape);
}

function ofOps(x: Tensor, affine: readonly Tensor[], grouping: Grouping): Standardized {
  const { out, center, variance } = plain(x, grouping);
  const [weight, bias] = affine.map((own) => reshape(own, grouping.weightShape));
  const result = weight && bias ? add(mul(out, weight), bias) : out;
  return {
    out: reshape(result, x.shape),
    mean: reshape(center.detach(), [center.numel()]),
    variance: reshape(variance.detach(), [variance.numel()]),
  };
}

function expectWeights(name: string, weight: Tensor, { weightShape }: Grouping): void {
  const count = sizeOf(weightShape);
  if (weight.numel() === count) return;
  throw new ShapeError({
    what: `${name}: weight or bias doesn't fit`,
    given: `${formatSpec(weight)}`,
    expected: `${count} elements, for ${formatShape(weightShape)}`,
    remedy: 'check the number of channels, or the normalized shape',
  });
}

/**
 * Throws DTypeError unless weights and running values have the dtype of the normalized tensor, as in PyTorch;
 * float32 is also allowed for half precision.
 */
export function expectNormDTypes(
  name: string,
  x: TensorSpec,
  others: Readonly<Record<string, Tensor | null>>,
): void {
  for (const [role, own] of Object.entries(others)) {
    if (!own || own.dtype === x.dtype || own.dtype === wide(x.dtype)) continue;
    throw new DTypeError({
      what: `${name}: the ${role} has another dtype than the input`,
      given: `input ${formatSpec(x)}, ${role} ${formatSpec(own)}`,
      expected: `a ${role} in ${[...new Set([x.dtype, wide(x.dtype)])].join(' or ')}`,
      remedy: `cast the module, module.to('${x.dtype}'), or the input, x.to('${own.dtype}')`,
    });
  }
}

/** Runs `body` on the tensor in a floating-point dtype and frees temporaries. */
export function normalized(
  x: Tensor,
  dtype: Tensor['dtype'],
  body: (own: Tensor) => Tensor,
): Tensor {
  return tidy(() => casting([x], dtype, ([own]) => body(own!)));
}
