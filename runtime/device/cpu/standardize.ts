import { sizeOf } from '../../tensor/shape.ts';
import type { Launch } from '../device.ts';
import { heap } from './heap.ts';
import { addressOf, expectContiguous, type KernelFactory } from './kernel.ts';
import * as scalar from './scalar/standardize.ts';
import { type Groups, groupsOf } from './scalar/standardize.ts';
import { argumentsAt } from './scratch.ts';
import { hasSimd } from './wasm/module-builder.ts';
import { standardizeKernels } from './wasm/standardize-kernels.ts';

/** float32 sums of at most so many elements; those of longer runs are added in double precision. */
const longest = 4096;

/** The two sums that a kernel left. */
const sums = (): readonly [number, number] => [
  heap.f32[argumentsAt / 4]!,
  heap.f32[argumentsAt / 4 + 1]!,
];

/** Both sums of a kernel over a run, part by part. */
function summed(
  length: number,
  part: (start: number, count: number) => void,
): [first: number, second: number] {
  let [first, second] = [0, 0];
  for (let start = 0; start < length; start += longest) {
    part(start, Math.min(longest, length - start));
    const [a, b] = sums();
    first += a;
    second += b;
  }
  return [first, second];
}

/** Weights one per element (layer norm), or one per run long enough for vectors. */
function fits({ run, length }: Groups, weights: number): boolean {
  return length >= 4 && (weights === 0 || (run === 1 && weights === length) || run >= 4);
}

export const standardize: KernelFactory = (inputs, outputs, attrs) => {
  const [x, weight] = inputs;
  const own = groupsOf(attrs);
  const weights = weight ? sizeOf(weight.shape) : 0;
  if (!hasSimd || x!.dtype !== 'float32' || !fits(own, weights)) {
    return scalar.standardize(inputs, outputs, attrs);
  }
  expectContiguous(...inputs, outputs[0]!);
  const { outer, groups, length, run } = own;
  const { moments, scaleRun, scaleEach } = standardizeKernels();
  const count = outer * length;
  const each = weights > 0 && run === 1;
  const step = weights === 0 ? length : run;
  const { eps, centered } = attrs as unknown as {
    readonly eps: number;
    readonly centered: boolean;
  };
  return ([source, w, b], [target, stats]) => {
    const from = addressOf(source!, 'float32');
    const to = addressOf(target!, 'float32');
    const statsAt = addressOf(stats!, 'float32') / 4;
    const weightAt = w ? addressOf(w, 'float32') : 0;
    const biasAt = b ? addressOf(b, 'float32') : 0;
    for (let g = 0; g < groups; g++) {
      const over = (shift: number, which: 0 | 1): number => {
        let total = 0;
        for (let o = 0; o < outer; o++) {
          const at = from + (o * groups + g) * length * 4;
          total += summed(length, (start, n) => {
            moments(at + start * 4, n, argumentsAt, shift);
          })[which];
        }
        return total;
      };
      const mean = centered ? Math.fround(over(0, 0) / count) : 0;
      const scale = Math.fround(1 / Math.sqrt(over(mean, 1) / count + eps));
      heap.f32[statsAt + 2 * g] = mean;
      heap.f32[statsAt + 2 * g + 1] = scale;
      for (let o = 0; o < outer; o++) {
        const at = (o * groups + g) * length * 4;
        if (each) {
          scaleEach(from + at, weightAt, biasAt, length, to + at, mean, scale);
          continue;
        }
        let which = weights === 0 ? 0 : (g * (length / run)) % weights;
        for (let start = 0; start < length; start += step) {
          const factor = weights === 0 ? scale : scale * heap.f32[weightAt / 4 + which]!;
          const added = weights === 0 ? 0 : heap.f32[biasAt / 4 + which]!;
          scaleRun(from + at + start * 4, step, to + at + start * 4, mean, factor, added);
          which = which + 1 >= weights ? 0 : which + 1;
        }
      }
    }
  };
};

export const standardizeGrad: KernelFactory = (inputs, outputs, attrs) => {
  const [dy, , , weight] = inputs;
  const own = groupsOf(attrs);
  const weights = weight ? sizeOf(weight.shape) : 0;
  if (!hasSimd || dy!.dtype !== 'float32' || !fits(own, weights)) {
    return scalar.standardizeGrad(inputs, outputs, attrs);
  }
  expectContiguous(...inputs, outputs[0]!);
  const { outer, groups, length, run } = own;
  const { gradMomentsRun, gradMomentsEach, gradRun, gradEach } = standardizeKernels();
  const count = outer * length;
  const each = weights > 0 && run === 1;
  const step = weights === 0 ? length : run;
  const centered = attrs.centered as boolean;
  const launch: Launch = ([grad, source, stats, w], [target]) => {
    const gradAt = addressOf(grad!, 'float32');
    const from = addressOf(source!, 'float32');
    const to = addressOf(target!, 'float32');
    const statsAt = addressOf(stats!, 'float32') / 4;
    const weightAt = w ? addressOf(w, 'float32') : 0;
    for (let g = 0; g < groups; g++) {
      const mean = heap.f32[statsAt + 2 * g]!;
      const scale = heap.f32[statsAt + 2 * g + 1]!;
      const first = weights === 0 ? 0 : (g * (length / run)) % weights;
      const factorOf = (which: number) => (weights === 0 ? 1 : heap.f32[weightAt / 4 + which]!);
      let [sum, product] = [0, 0];
      for (let o = 0; o < outer; o++) {
        const at = (o * groups + g) * length * 4;
        let which = first;
        for (let start = 0; start < length; start += each ? length : step) {
          const [a, b] = summed(each ? length : step, (skip, n) => {
            const by = at + (start + skip) * 4;
            if (each)
              gradMomentsEach(gradAt + by, from + by, weightAt + skip * 4, n, argumentsAt, mean);
            else gradMomentsRun(gradAt + by, from + by, n, argumentsAt, mean);
          });
          const factor = each ? 1 : factorOf(which);
          sum += a * factor;
          product += b * factor;
          which = which + 1 >= weights ? 0 : which + 1;
        }
      }
      const shift = centered ? sum / count : 0;
      const slope = (product * scale * scale) / count;
      for (let o = 0; o < outer; o++) {
        const at = (o * groups + g) * length * 4;
        if (each) {
          gradEach(gradAt + at, from + at, weightAt, length, to + at, mean, scale, shift, slope);
          continue;
        }
        let which = first;
        for (let start = 0; start < length; start += step) {
          const by = at + start * 4;
          const factor = factorOf(which);
          gradRun(gradAt + by, from + by, step, to + by, mean, factor, scale, shift, slope);
          which = which + 1 >= weights ? 0 : which + 1;
        }
      }
    }
  };
  return launch;
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
  const { gradMomentsRun, addWeightGrad } = standardizeKernels();
  const each = run === 1;
  return ([grad, source, statistics], [target]) => {
    const gradAt = addressOf(grad!, 'float32');
    const from = addressOf(source!, 'float32');
    const statsAt = addressOf(statistics!, 'float32') / 4;
    const to = addressOf(target!, 'float32');
    const totals = new Float64Array(each ? 0 : weights);
    heap.f32.fill(0, to / 4, to / 4 + weights);
    for (let o = 0; o < outer; o++) {
      for (let g = 0; g < groups; g++) {
        const mean = heap.f32[statsAt + 2 * g]!;
        const scale = heap.f32[statsAt + 2 * g + 1]!;
        const at = (o * groups + g) * length * 4;
        if (each) {
          addWeightGrad(gradAt + at, from + at, length, to, mean, scale);
          continue;
        }
        let which = (g * (length / run)) % weights;
        for (let start = 0; start < length; start += run) {
          const [, products] = summed(run, (skip, n) => {
            const by = at + (start + skip) * 4;
            gradMomentsRun(gradAt + by, from + by, n, argumentsAt, mean);
          });
          totals[which]! += products * scale;
          which = which + 1 === weights ? 0 : which + 1;
        }
      }
    }
    if (!each) heap.f32.set(totals, to / 4);
  };
};

/** Layer normalization in float32, as its op says: the rows' shares are added one after the other. */
export const addStandardizeWeightGrad: KernelFactory = ([, dy, x, stats], [out], attrs) => {
  expectContiguous(dy!, x!, stats!, out!);
  const { groups, length } = groupsOf(attrs);
  const { addWeightGrad } = standardizeKernels();
  return ([, grad, source, statistics], [target]) => {
    const gradAt = addressOf(grad!, 'float32');
    const from = addressOf(source!, 'float32');
    const statsAt = addressOf(statistics!, 'float32') / 4;
    const to = addressOf(target!, 'float32');
    for (let g = 0; g < groups; g++) {
      const at = g * length * 4;
      const mean = heap.f32[statsAt + 2 * g]!;
      addWeightGrad(gradAt + at, from + at, length, to, mean, heap.f32[statsAt + 2 * g + 1]!);
    }
  };
};
