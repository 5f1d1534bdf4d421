import { sizeOf } from '../../../spec/shape.ts';
import type { Operand } from '../../device.ts';
import type { Attrs } from '../../kernel-op.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { heap } from '../core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../core/kernel.ts';

/**
 * A contiguous tensor as groups of elements with one mean each: [outer, groups, length], where a group is all
 * elements with the same middle index. Each weight covers `run` adjacent elements, one group after another.
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

/**
 * Sums are in double precision: one pass for the mean, one for the squared deviations. Both statistics are rounded
 * to their dtype before anything is computed from them, so that kernels given the statistics get the same results.
 */
export const standardize: KernelFactory = (inputs, [out], attrs) => {
  const [x] = inputs;
  expectContiguous(...inputs, out!);
  const { dtype } = x!;
  const { outer, groups, length } = groupsOf(attrs);
  const eps = attrs.eps as number;
  const centered = attrs.centered as boolean;
  const count = outer * length;
  const scale = scaling(inputs, attrs);
  return ([source, ...affine], [target, stats]) => {
    const data = heap.view(dtype);
    const from = indexOf(source!, dtype);
    const statsAt = indexOf(stats!, dtype);
    for (let g = 0; g < groups; g++) {
      let sum = 0;
      for (let o = 0; centered && o < outer; o++) {
        const at = from + (o * groups + g) * length;
        for (let i = 0; i < length; i++) sum += data[at + i]!;
      }
      data[statsAt + 2 * g] = centered ? sum / count : 0;
      const mean = data[statsAt + 2 * g]!;
      let squares = 0;
      for (let o = 0; o < outer; o++) {
        const at = from + (o * groups + g) * length;
        for (let i = 0; i < length; i++) {
          const distance = data[at + i]! - mean;
          squares += distance * distance;
        }
      }
      data[statsAt + 2 * g + 1] = 1 / Math.sqrt(squares / count + eps);
    }
    scale([source!, stats!, ...affine], target!);
  };
};

export const standardizeByStats: KernelFactory = (inputs, [out], attrs) => {
  const [x, , ...affine] = inputs;
  expectContiguous(...inputs, out!);
  const scale = scaling([x!, ...affine], attrs);
  return (operands, [target]) => scale(operands, target!);
};

/** Computes (x − mean) · scale · weight + bias from (x, stats, weight?, bias?). */
function scaling(
  [x, weight]: readonly TensorMeta[],
  attrs: Attrs,
): (operands: readonly Operand[], target: Operand) => void {
  const { dtype } = x!;
  const { outer, groups, length, run } = groupsOf(attrs);
  const weights = weight ? sizeOf(weight.shape) : 0;
  return ([source, stats, w, b], target) => {
    const data = heap.view(dtype);
    const from = indexOf(source!, dtype);
    const to = indexOf(target, dtype);
    const statsAt = indexOf(stats!, dtype);
    const weightAt = w ? indexOf(w, dtype) : 0;
    const biasAt = b ? indexOf(b, dtype) : 0;
    for (let g = 0; g < groups; g++) {
      const shift = data[statsAt + 2 * g]!;
      const scale = data[statsAt + 2 * g + 1]!;
      for (let o = 0; o < outer; o++) {
        const at = (o * groups + g) * length;
        if (weights === 0) {
          for (let i = 0; i < length; i++)
            data[to + at + i] = (data[from + at + i]! - shift) * scale;
          continue;
        }
        if (run === 1 && weights === length) {
          for (let i = 0; i < length; i++) {
            const factor = scale * data[weightAt + i]!;
            data[to + at + i] = (data[from + at + i]! - shift) * factor + data[biasAt + i]!;
          }
          continue;
        }
        let own = (g * (length / run)) % weights;
        for (let start = 0; start < length; start += run, own = own + 1 === weights ? 0 : own + 1) {
          const factor = scale * data[weightAt + own]!;
          const added = data[biasAt + own]!;
          for (let i = start; i < start + run; i++) {
            data[to + at + i] = (data[from + at + i]! - shift) * factor + added;
          }
        }
      }
    }
  };
}

/** dx = scale · (g − mean g − x̂ · mean(g · x̂)), with g = dy · weight and x̂ = (x − mean) · scale. */
export const standardizeGrad: KernelFactory = (inputs, [out], attrs) => {
  const [dy, , , weight] = inputs;
  expectContiguous(...inputs, out!);
  const { dtype } = dy!;
  const { outer, groups, length, run } = groupsOf(attrs);
  const centered = attrs.centered as boolean;
  const weights = weight ? sizeOf(weight.shape) : 0;
  const count = outer * length;
  return ([grad, source, stats, w], [target]) => {
    const data = heap.view(dtype);
    const gradAt = indexOf(grad!, dtype);
    const from = indexOf(source!, dtype);
    const to = indexOf(target!, dtype);
    const statsAt = indexOf(stats!, dtype);
    const weightAt = w ? indexOf(w, dtype) : 0;
    for (let g = 0; g < groups; g++) {
      const mean = data[statsAt + 2 * g]!;
      const scale = data[statsAt + 2 * g + 1]!;
      const first = weights === 0 ? 0 : (g * (length / run)) % weights;
      let sum = 0;
      let along = 0;
      // One weight per element, as in layer norm.
      const each = run === 1 && weights === length;
      for (let o = 0; o < outer; o++) {
        const at = (o * groups + g) * length;
        if (each) {
          for (let i = 0; i < length; i++) {
            const gradient = data[gradAt + at + i]! * data[weightAt + i]!;
            sum += gradient;
            along += gradient * (data[from + at + i]! - mean);
          }
          continue;
        }
        let own = first;
        for (let start = 0; start < length; start += run, own = own + 1 === weights ? 0 : own + 1) {
          const factor = weights === 0 ? 1 : data[weightAt + own]!;
          for (let i = start; i < start + run; i++) {
            const gradient = data[gradAt + at + i]! * factor;
            sum += gradient;
            along += gradient * (data[from + at + i]! - mean);
          }
        }
      }
      const shift = centered ? sum / count : 0;
      const slope = (along * scale * scale) / count;
      for (let o = 0; o < outer; o++) {
        const at = (o * groups + g) * length;
        if (each) {
          for (let i = 0; i < length; i++) {
            const gradient = data[gradAt + at + i]! * data[weightAt + i]!;
            data[to + at + i] = scale * (gradient - shift - (data[from + at + i]! - mean) * slope);
          }
          continue;
        }
        let own = first;
        for (let start = 0; start < length; start += run, own = own + 1 === weights ? 0 : own + 1) {
          const factor = weights === 0 ? 1 : data[weightAt + own]!;
          for (let i = start; i < start + run; i++) {
            const gradient = data[gradAt + at + i]! * factor;
            data[to + at + i] = scale * (gradient - shift - (data[from + at + i]! - mean) * slope);
          }
        }
      }
    }
  };
};

/** dw = Σ dy · x̂ over all elements of a weight. */
export const standardizeWeightGrad: KernelFactory = (inputs, [out], attrs) => {
  const [dy, x, stats] = inputs as readonly TensorMeta[];
  expectContiguous(dy!, x!, stats!, out!);
  const { dtype } = dy!;
  const { outer, groups, length, run } = groupsOf(attrs);
  const weights = sizeOf(out!.shape);
  return ([grad, source, statistics], [target]) => {
    const data = heap.view(dtype);
    const gradAt = indexOf(grad!, dtype);
    const from = indexOf(source!, dtype);
    const statsAt = indexOf(statistics!, dtype);
    const sums = new Float64Array(weights);
    for (let o = 0; o < outer; o++) {
      for (let g = 0; g < groups; g++) {
        const mean = data[statsAt + 2 * g]!;
        const scale = data[statsAt + 2 * g + 1]!;
        const at = (o * groups + g) * length;
        if (run === 1 && weights === length) {
          for (let i = 0; i < length; i++) {
            sums[i]! += data[gradAt + at + i]! * (data[from + at + i]! - mean) * scale;
          }
          continue;
        }
        let own = (g * (length / run)) % weights;
        for (let start = 0; start < length; start += run, own = own + 1 === weights ? 0 : own + 1) {
          let sum = 0;
          for (let i = start; i < start + run; i++) {
            sum += data[gradAt + at + i]! * (data[from + at + i]! - mean);
          }
          sums[own]! += sum * scale;
        }
      }
    }
    data.set(sums, indexOf(target!, dtype));
  };
};
