import { sizeOf } from '../../../spec/shape.ts';
import type { Attrs } from '../../kernel-op.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { hostKernel, hostMethods, type Numbers, type RealView } from '../core/host-kernels.ts';

/**
 * A contiguous tensor [outer, groups, length], whose elements with the same middle index are a group with one mean.
 * Each weight covers `run` adjacent elements, one group after another.
 */
export interface Groups {
  readonly outer: number;
  readonly groups: number;
  readonly length: number;
  readonly run: number;
}

export function groupsOf(attrs: Attrs): Groups {
  const view = attrs.view as readonly number[];
  const over = attrs.over as readonly number[];
  const weights = attrs.weightShape as readonly number[];
  const acrossBatch = over[0] === 0 && over.length > 1;
  const inner = acrossBatch ? view.slice(2) : view.slice(over[0]);
  const trailing = weights.length - 1 - weights.findLastIndex((size) => size !== 1);
  return {
    outer: acrossBatch ? view[0]! : 1,
    groups: acrossBatch ? view[1]! : sizeOf(view.slice(0, over[0])),
    length: sizeOf(inner),
    run: Math.max(1, sizeOf(inner.slice(inner.length - Math.min(trailing, inner.length)))),
  };
}

/** Sizes as the methods expect them. Without weights, each group is one run. */
function sizesOf(attrs: Attrs, weight: TensorMeta | undefined): Numbers {
  const { outer, groups, length, run } = groupsOf(attrs);
  const weights = weight ? sizeOf(weight.shape) : 0;
  return [outer, groups, length, weights === 0 ? length : run, weights];
}

/**
 * Sums are in double precision: one pass for the mean, one for the squared deviations. Both statistics are rounded to
 * their dtype before use, so that kernels that receive the statistics compute the same results.
 */
export const standardizeMethods = hostMethods({
  standardizeGroups(
    view: RealView,
    at: Numbers,
    sizes: Numbers,
    centered: boolean,
    eps: number,
  ): void {
    const data = this[view];
    const [from, , stats] = at as [number, number, number];
    const [outer, groups, length] = sizes as [number, number, number];
    const count = outer * length;
    for (let g = 0; g < groups; g++) {
      let sum = 0;
      for (let o = 0; centered && o < outer; o++) {
        const first = from + (o * groups + g) * length;
        for (let i = first; i < first + length; i++) sum += data[i]!;
      }
      data[stats + 2 * g] = centered ? sum / count : 0;
      const mean = data[stats + 2 * g]!;
      let squares = 0;
      for (let o = 0; o < outer; o++) {
        const first = from + (o * groups + g) * length;
        for (let i = first; i < first + length; i++) {
          const distance = data[i]! - mean;
          squares += distance * distance;
        }
      }
      data[stats + 2 * g + 1] = 1 / Math.sqrt(squares / count + eps);
    }
    this.standardizeGroupsByStats(view, at, sizes);
  },

  /** Computes (x − mean) · scale · weight + bias. */
  standardizeGroupsByStats(
    view: RealView,
    [from, to, stats, weight, bias]: Numbers,
    [outer, groups, length, run, weights]: Numbers,
  ): void {
    const data = this[view];
    for (let g = 0; g < groups!; g++) {
      const shift = data[stats! + 2 * g]!;
      const scale = data[stats! + 2 * g + 1]!;
      for (let o = 0; o < outer!; o++) {
        let at = (o * groups! + g) * length!;
        const end = at + length!;
        if (weights === 0) {
          for (; at < end; at++) data[to! + at] = (data[from! + at]! - shift) * scale;
          continue;
        }
        let own = (g * (length! / run!)) % weights!;
        for (; at < end; own = own + 1 === weights ? 0 : own + 1) {
          const factor = scale * data[weight! + own]!;
          const added = data[bias! + own]!;
          for (const last = at + run!; at < last; at++) {
            data[to! + at] = (data[from! + at]! - shift) * factor + added;
          }
        }
      }
    }
  },

  /** dx = scale · (g − mean g − x̂ · mean(g · x̂)), with g = dy · weight and x̂ = (x − mean) · scale. */
  standardizeGradGroups(
    view: RealView,
    [dy, from, to, stats, weight]: Numbers,
    [outer, groups, length, run, weights]: Numbers,
    centered: boolean,
  ): void {
    const data = this[view];
    const count = outer! * length!;
    for (let g = 0; g < groups!; g++) {
      const mean = data[stats! + 2 * g]!;
      const scale = data[stats! + 2 * g + 1]!;
      const first = weights === 0 ? 0 : (g * (length! / run!)) % weights!;
      let sum = 0;
      let along = 0;
      for (let o = 0; o < outer!; o++) {
        let own = first;
        let at = (o * groups! + g) * length!;
        for (const end = at + length!; at < end; own = own + 1 === weights ? 0 : own + 1) {
          const factor = weights === 0 ? 1 : data[weight! + own]!;
          for (const last = at + run!; at < last; at++) {
            const gradient = data[dy! + at]! * factor;
            sum += gradient;
            along += gradient * (data[from! + at]! - mean);
          }
        }
      }
      const shift = centered ? sum / count : 0;
      const slope = (along * scale * scale) / count;
      for (let o = 0; o < outer!; o++) {
        let own = first;
        let at = (o * groups! + g) * length!;
        for (const end = at + length!; at < end; own = own + 1 === weights ? 0 : own + 1) {
          const factor = weights === 0 ? 1 : data[weight! + own]!;
          for (const last = at + run!; at < last; at++) {
            const gradient = data[dy! + at]! * factor;
            data[to! + at] = scale * (gradient - shift - (data[from! + at]! - mean) * slope);
          }
        }
      }
    }
  },

  /** dw = Σ dy · x̂ over all elements of a weight. */
  standardizeWeightGradRuns(
    view: RealView,
    [dy, from, stats, to]: Numbers,
    [outer, groups, length, run, weights]: Numbers,
  ): void {
    const data = this[view];
    const sums = new Float64Array(weights!);
    for (let o = 0; o < outer!; o++) {
      for (let g = 0; g < groups!; g++) {
        const mean = data[stats! + 2 * g]!;
        const scale = data[stats! + 2 * g + 1]!;
        let own = (g * (length! / run!)) % weights!;
        let at = (o * groups! + g) * length!;
        for (const end = at + length!; at < end; own = own + 1 === weights ? 0 : own + 1) {
          let sum = 0;
          for (const last = at + run!; at < last; at++) {
            sum += data[dy! + at]! * (data[from! + at]! - mean);
          }
          sums[own]! += sum * scale;
        }
      }
    }
    data.set(sums, to);
  },
});

export const standardize = hostKernel(
  standardizeMethods,
  'standardizeGroups',
  ([x, ...affine], [out, stats]) => [x, out, stats, ...affine],
  ([, weight], _outputs, attrs) => [
    sizesOf(attrs, weight),
    attrs.centered as boolean,
    attrs.eps as number,
  ],
);

export const standardizeByStats = hostKernel(
  standardizeMethods,
  'standardizeGroupsByStats',
  ([x, stats, ...affine], [out]) => [x, out, stats, ...affine],
  ([, , weight], _outputs, attrs) => [sizesOf(attrs, weight)],
);

export const standardizeGrad = hostKernel(
  standardizeMethods,
  'standardizeGradGroups',
  ([dy, x, stats, ...affine], [dx]) => [dy, x, dx, stats, ...affine],
  ([, , , weight], _outputs, attrs) => [sizesOf(attrs, weight), attrs.centered as boolean],
);

export const standardizeWeightGrad = hostKernel(
  standardizeMethods,
  'standardizeWeightGradRuns',
  ([dy, x, stats], [dw]) => [dy, x, stats, dw],
  (_inputs, [dw], attrs) => [sizesOf(attrs, dw)],
);
