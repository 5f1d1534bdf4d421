import { sizeOf } from '../../spec/shape.ts';
import { addressOf, expectContiguous, type KernelFactory } from './core/kernel.ts';
import { fillBytes } from './movement/bytes.ts';
import * as scalar from './scalar/standardize.ts';
import { type Groups, groupsOf } from './scalar/standardize.ts';
import { mostParts } from './threads/control.ts';
import { Parts } from './threads/parts.ts';
import { pool } from './threads/pool.ts';
import { hasSimd } from './wasm/assembler/module-builder.ts';
import { mostWeights } from './wasm/standardize-groups.ts';
import { standardizeKernels } from './wasm/standardize-kernels.ts';

/** Nanoseconds per element and per group, and the minimum per part. */
const perElement = 0.8;
const perGroup = 60;
const leastPart = 8_000;

/** Whether there is one weight per element (layer norm), or one per run that is long enough for vectors. */
function fits({ run, length }: Groups, weights: number): boolean {
  return length >= 4 && (weights === 0 || (run === 1 && weights === length) || run >= 4);
}

/** The range of a kernel's groups or weights, and how threads divide it. */
interface Ranges {
  readonly count: number;
  readonly size: number;
  readonly work: number;
  readonly parts: Parts;
}

/**
 * Calls a kernel for [0, count), at once or in parts of `size`, with `args`, whose elements at `place` are the bounds.
 */
function inRanges(args: number[], place: number, { count, size, work, parts }: Ranges): void {
  const isShared = count > size && pool.shares(work);
  const step = isShared ? size : count;
  for (let from = 0; from < count; from += step) {
    args[place] = from;
    args[place + 1] = Math.min(from + step, count);
    parts.call(args, isShared);
  }
  parts.run();
}

/** Returns the number of groups or weights in a part, given the elements of each. */
const partSize = (count: number, elements: number): number =>
  Math.max(Math.ceil(leastPart / (elements * perElement + perGroup)), Math.ceil(count / mostParts));

/** Returns the ranges of a tensor's groups, and the kernel's sizes; layer norm has one weight per element. */
function groupPlan({ outer, groups, length, run }: Groups, weights: number, parts: Parts) {
  const count = outer * length;
  const each = weights > 0 && run === 1;
  return {
    ranges: {
      count: groups,
      size: partSize(groups, count),
      work: groups * (count * perElement + perGroup),
      parts,
    },
    sizes: [groups, outer, length, run, weights, weights === 0 ? length : run, +each],
  };
}

export const standardize: KernelFactory = (inputs, outputs, attrs) => {
  const [x, weight] = inputs;
  const groups = groupsOf(attrs);
  const weights = weight ? sizeOf(weight.shape) : 0;
  if (!hasSimd || x!.dtype !== 'float32' || !fits(groups, weights)) {
    return scalar.standardize(inputs, outputs, attrs);
  }
  expectContiguous(...inputs, outputs[0]!);
  const { standardizeGroups } = standardizeKernels();
  const { eps, centered } = attrs as unknown as {
    readonly eps: number;
    readonly centered: boolean;
  };
  const { ranges, sizes } = groupPlan(groups, weights, new Parts(standardizeGroups, 16));
  return ([source, w, b], [target, stats]) => {
    const addresses = [source!, target!, stats!].map((one) => addressOf(one, 'float32'));
    const affine = [w, b].map((one) => (one ? addressOf(one, 'float32') : 0));
    const args = [...addresses, ...affine, 0, 0, ...sizes, +centered, eps];
    inRanges(args, 5, ranges);
  };
};

export const standardizeByStats: KernelFactory = (inputs, outputs, attrs) => {
  const [x, , weight] = inputs;
  const groups = groupsOf(attrs);
  const weights = weight ? sizeOf(weight.shape) : 0;
  if (!hasSimd || x!.dtype !== 'float32' || !fits(groups, weights)) {
    return scalar.standardizeByStats(inputs, outputs, attrs);
  }
  expectContiguous(...inputs, outputs[0]!);
  const { standardizeGroupsByStats } = standardizeKernels();
  const { ranges, sizes } = groupPlan(groups, weights, new Parts(standardizeGroupsByStats, 16));
  return ([source, stats, w, b], [target]) => {
    const addresses = [source!, target!, stats!].map((one) => addressOf(one, 'float32'));
    const affine = [w, b].map((one) => (one ? addressOf(one, 'float32') : 0));
    const args = [...addresses, ...affine, 0, 0, ...sizes, 0, 0];
    inRanges(args, 5, ranges);
  };
};

export const standardizeGrad: KernelFactory = (inputs, outputs, attrs) => {
  const [dy, , , weight] = inputs;
  const groups = groupsOf(attrs);
  const weights = weight ? sizeOf(weight.shape) : 0;
  if (!hasSimd || dy!.dtype !== 'float32' || !fits(groups, weights)) {
    return scalar.standardizeGrad(inputs, outputs, attrs);
  }
  expectContiguous(...inputs, outputs[0]!);
  const { standardizeGradGroups } = standardizeKernels();
  const centered = attrs.centered as boolean;
  const { ranges, sizes } = groupPlan(groups, weights, new Parts(standardizeGradGroups, 15));
  return ([grad, source, stats, w], [target]) => {
    const operands = [grad!, source!, target!, stats!];
    const addresses = operands.map((one) => addressOf(one, 'float32'));
    const weightAt = w ? addressOf(w, 'float32') : 0;
    const args = [...addresses, weightAt, 0, 0, ...sizes, +centered];
    inRanges(args, 5, ranges);
  };
};

export const standardizeWeightGrad: KernelFactory = (inputs, outputs, attrs) => {
  const [dy, x, stats] = inputs;
  const own = groupsOf(attrs);
  const [out] = outputs;
  const weights = sizeOf(out!.shape);
  if (!hasSimd || dy!.dtype !== 'float32' || !fits(own, weights)) {
    return scalar.standardizeWeightGrad(inputs, outputs, attrs);
  }
  expectContiguous(dy!, x!, stats!, out!);
  const { outer, groups, length, run } = own;
  if (run === 1) {
    const add = weightGradRows(own);
    return ([grad, source, statistics], [target]) => {
      const operands = [grad!, source!, statistics!, target!];
      const [gradAt, from, statsAt, to] = operands.map((one) => addressOf(one, 'float32'));
      fillBytes(to!, weights * 4);
      add(gradAt!, from!, statsAt!, to!);
    };
  }
  if (weights > mostWeights) return scalar.standardizeWeightGrad(inputs, outputs, attrs);
  const { weightGradRuns } = standardizeKernels();
  const elements = outer * groups * length;
  const ranges = {
    count: weights,
    size: partSize(weights, elements / weights),
    work: elements * perElement,
    parts: new Parts(weightGradRuns, 11),
  };
  const sizes = [outer, groups, length, run, weights];
  return ([grad, source, statistics], [target]) => {
    const operands = [grad!, source!, statistics!, target!];
    const addresses = operands.map((one) => addressOf(one, 'float32'));
    inRanges([...addresses, ...sizes, 0, 0], 9, ranges);
  };
};

/** The minimum number of columns per part: whole cache lines. */
const leastColumns = 64;

type WeightGrad = (grad: number, x: number, stats: number, to: number) => void;

/** The gradient of one weight per element of a group, added to existing values, row by row. */
function weightGradRows({ outer, groups, length }: Groups): WeightGrad {
  const rows = outer * groups;
  const work = rows * length * perElement;
  const columns = Math.ceil(Math.max(leastColumns, leastPart / (rows * perElement)) / 4) * 4;
  const parts = new Parts(standardizeKernels().addWeightGradRows, 9);
  const isDivisible = columns * 2 <= length && length / columns <= mostParts;
  return (grad, x, stats, to) => {
    const isShared = isDivisible && pool.shares(work);
    const step = isShared ? columns : length;
    const args = [grad, x, stats, to, rows, groups, length, 0, 0];
    for (let from = 0; from < length; from += step) {
      args[7] = from;
      args[8] = Math.min(step, length - from);
      parts.call(args, isShared);
    }
    parts.run();
  };
}

/** Layer normalization in float32, as the op ensures; rows contribute one after the other. */
export const addStandardizeWeightGrad: KernelFactory = ([, dy, x, stats], [out], attrs) => {
  expectContiguous(dy!, x!, stats!, out!);
  const add = weightGradRows(groupsOf(attrs));
  return ([, grad, source, statistics], [target]) => {
    const operands = [grad!, source!, statistics!, target!];
    const [gradAt, from, statsAt, to] = operands.map((one) => addressOf(one, 'float32'));
    add(gradAt!, from!, statsAt!, to!);
  };
};
