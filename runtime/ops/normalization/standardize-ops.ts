/** The ops that standardize groups, and their gradients. Backward keeps the input and two numbers per group. */

import { gradEnabled } from '../../autograd/grad-mode.ts';
import * as standardizationKernels from '../../device/cpu/standardize.ts';
import { type Attrs, named } from '../../device/kernel-op.ts';
import type { RowSlice } from '../../device/staged-body.ts';
import { isContiguousMeta, type TensorMeta, type TensorSpec } from '../../device/tensor-meta.ts';
import { sizeOf } from '../../spec/shape.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { mul } from '../arithmetic/arithmetic.ts';
import { bind1 } from '../core/bind.ts';
import { cast } from '../core/cast.ts';
import { roundedOnce, wide } from '../core/rounded-once.ts';
import { reshape } from '../movement/movement.ts';
import { defineOp, type OpRecord, saving } from '../record/define-op.ts';
import type { RowRule } from '../record/row-cuts.ts';
import { sum } from '../reduce/reduce.ts';
import { type Grouping, groupingOf, groupRows, onGroups } from './grouping.ts';
import { plain, recordedGradient } from './standardize-in-ops.ts';

function inferStandardized([x]: readonly TensorMeta[], attrs: Attrs) {
  const { view, over } = groupingOf(attrs);
  const groups = sizeOf(view.filter((_, d) => !over.includes(d)));
  // Statistics of half-precision tensors are float32, for backward and running values.
  return [
    { dtype: x!.dtype, shape: x!.shape },
    { dtype: wide(x!.dtype), shape: [groups, 2] },
  ];
}

const inferLike =
  (index: number) =>
  (inputs: readonly TensorMeta[]): TensorSpec => ({
    dtype: inputs[index]!.dtype,
    shape: inputs[index]!.shape,
  });

const inputGradient = {
  infer: inferLike(1),
  kernel: named('standardizeGrad', standardizationKernels.standardizeGrad),
  overwrites: ['dy', 'x'],
} as const;

const ofPlain = { dy: 'data', x: 'data', stats: 'data' } as const;

export const gradOp: OpRecord = defineOp({
  ...onGroups(ofPlain),
  ...inputGradient,
  name: 'standardizeGrad',
  rows: groupRows(ofPlain),
});

const ofAffine = { ...ofPlain, weight: 'data' } as const;

export const affineGradOp: OpRecord = defineOp({
  ...onGroups(ofAffine),
  ...inputGradient,
  name: 'standardizeAffineGrad',
  rows: groupRows(ofAffine),
});

export const weightGradOp: OpRecord = defineOp({
  ...onGroups({ ...ofPlain, weight: 'shape' }),
  name: 'standardizeWeightGrad',
  infer: inferLike(3),
  kernel: named('standardizeWeightGrad', standardizationKernels.standardizeWeightGrad),
});

/**
 * In place: the gradient of layer normalization's weights, continued from the previous rows. Bitwise identical to
 * one sum over all rows. Only the compiler emits it.
 */
export const addStandardizeWeightGradOp = defineOp({
  ...onGroups({ dw: 'data', ...ofPlain, weight: 'shape' }),
  name: 'addStandardizeWeightGrad_',
  dtypes: { dw: 'float32', dy: 'float32', x: 'float32', stats: 'float32', weight: 'ignored' },
  infer: inferLike(0),
  kernel: named('addStandardizeWeightGrad', standardizationKernels.addStandardizeWeightGrad),
  inPlace: true,
});

const forward = {
  infer: inferStandardized,
  kernel: named('standardize', standardizationKernels.standardize),
} as const;

/** Cuts by images, for groups that are channels of a batch with given statistics. */
const imageRows: RowRule = (inputs, outputs, attrs) => {
  const { view, over } = groupingOf(attrs);
  if (over[0] !== 0 || over.length < 2 || view[0]! < 2) return [];
  if (![...inputs, ...outputs].every(isContiguousMeta)) return [];
  const [count, ...image] = view as [number, ...number[]];
  const slice: RowSlice = { step: sizeOf(image), shape: [sizeOf(image)], strides: [1] };
  const rowsOf = (rows: number): Attrs => ({ ...attrs, view: [rows, ...image] });
  const slices = inputs.map((_, i) => (i === 0 ? slice : null));
  return [{ count, inputs: slices, outputs: [slice], attrs: rowsOf, least: 1 }];
};

const byStats = { x: 'data', stats: 'data' } as const;
const affineByStats = { ...byStats, weight: 'data', bias: 'data' } as const;

const givenStats = {
  infer: inferLike(0),
  kernel: named('standardizeByStats', standardizationKernels.standardizeByStats),
  overwrites: ['x'],
  rows: ((inputs, outputs, attrs) => [
    ...groupRows(affineByStats)(inputs, outputs, attrs),
    ...imageRows(inputs, outputs, attrs),
  ]) satisfies RowRule,
} as const;

/** Standardizes by given statistics, for values that are recomputed. Written only by the compiler. */
export const byStatsOp = defineOp({
  ...onGroups(byStats),
  ...givenStats,
  name: 'standardizeByStats',
});

/** Standardizes by given statistics, with weights and biases. Written only by the compiler. */
export const affineByStatsOp = defineOp({
  ...onGroups(affineByStats),
  ...givenStats,
  name: 'standardizeAffineByStats',
});

export const standardizeOp = defineOp({
  ...onGroups({ x: 'data' }),
  ...forward,
  name: 'standardize',
  givenOut1: 'standardizeByStats',
  rows: groupRows({ x: 'data' }),
  vjp: {
    x: saving({ x: 'value', out1: 'value' }, ({ x, out1 }, dy, attrs) =>
      gradEnabled()
        ? recordedGradient(dy, x, null, groupingOf(attrs))
        : bind1(gradOp, [dy, x, out1], attrs),
    ),
  },
});

const affine = { x: 'data', weight: 'data', bias: 'data' } as const;

export const affineOp = defineOp({
  ...onGroups(affine),
  ...forward,
  name: 'standardizeAffine',
  givenOut1: 'standardizeAffineByStats',
  rows: groupRows(affine),
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
      const grouped = cast(reshape(dy, grouping.view), bias.dtype);
      return perWeight(grouped, grouping);
    }),
  },
});

/** Sums the elements that belong to each weight. */
function perWeight(x: Tensor, { view, weightShape }: Grouping): Tensor {
  const lead = view.length - weightShape.length;
  const dims = view.map((_, d) => d).filter((d) => (weightShape[d - lead] ?? 1) === 1);
  return reshape(sum(x, dims), [sizeOf(weightShape)]);
}
