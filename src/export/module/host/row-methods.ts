/** JavaScript kernels over rows, groups and windows; each is written into a module as text. */

import type { View } from '../../../../runtime/device/cpu/core/host-kernels.ts';
import type { HostMemory } from './host-methods.ts';

type Numbers = readonly number[];
type Real = 'f32' | 'f64';

/**
 * Calls `body` for each line of `size` entries with stride `step`, with its first entry and its position within the
 * step.
 */
export type EachLine = (
  size: number,
  step: number,
  outer: number,
  body: (first: number, place: number) => void,
) => void;

export const rowMethods = {
  eachLine(
    size: number,
    step: number,
    outer: number,
    body: (first: number, place: number) => void,
  ) {
    for (let o = 0; o < outer; o++) {
      for (let i = 0; i < step; i++) body(o * size * step + i, i);
    }
  },

  clear(view: View, at: number, size: number) {
    this[view].fill(0, at, at + size);
  },

  /** Operands of one shape, row by row along the last dimension; the last one is the result. */
  softmaxRows(kind: string, view: Real, at: Numbers, rows: number, length: number) {
    const data = this[view];
    const round = view === 'f32' ? Math.fround : (value: number) => value;
    for (let row = 0; row < rows; row++) {
      const [a, b, c] = at.map((place) => place + row * length) as [number, number, number];
      let sum = 0;
      if (kind === 'softmax' || kind === 'logSoftmax') {
        let max = Number.NEGATIVE_INFINITY;
        for (let i = 0; i < length; i++) max = Math.max(max, data[a + i]!);
        for (let i = 0; i < length; i++) {
          const e = round(Math.exp(round(data[a + i]! - max)));
          if (kind === 'softmax') data[b + i] = e;
          sum = round(sum + e);
        }
        const logSum = round(Math.log(sum));
        for (let i = 0; i < length; i++) {
          if (kind === 'softmax') data[b + i] = data[b + i]! / sum;
          else data[b + i] = round(data[a + i]! - max) - logSum;
        }
        continue;
      }
      const isLog = kind === 'logSoftmaxGrad';
      for (let i = 0; i < length; i++) {
        sum = round(sum + (isLog ? data[a + i]! : round(data[a + i]! * data[b + i]!)));
      }
      for (let i = 0; i < length; i++) {
        if (isLog) data[c + i] = data[a + i]! - round(round(Math.exp(data[b + i]!)) * sum);
        else data[c + i] = round(data[a + i]! - sum) * data[b + i]!;
      }
    }
  },

  /** Calls `body` for each run of a group that shares one weight, with its first element and the weight. */
  eachRun(
    group: number,
    [outer, groups, length, run, weights]: Numbers,
    body: (first: number, weight: number) => void,
    from = 0,
    end = outer!,
  ) {
    for (let o = from; o < end; o++) {
      const first = (o * groups! + group) * length!;
      let own = weights === 0 ? 0 : (group * (length! / run!)) % weights!;
      for (let start = 0; start < length!; start += run!) {
        body(first + start, own);
        own = own + 1 === weights ? 0 : own + 1;
      }
    }
  },

  standardizeGroups(view: Real, at: Numbers, sizes: Numbers, centered: number, eps: number) {
    const data = this[view];
    const [from, , stats] = at;
    const [outer, groups, length, run] = sizes as [number, number, number, number];
    const count = outer * length;
    for (let g = 0; g < groups; g++) {
      let sum = 0;
      if (centered) {
        this.eachRun(g, sizes, (at) => {
          for (let i = from! + at; i < from! + at + run; i++) sum += data[i]!;
        });
      }
      data[stats! + 2 * g] = centered ? sum / count : 0;
      const shift = data[stats! + 2 * g]!;
      let squares = 0;
      this.eachRun(g, sizes, (at) => {
        for (let i = from! + at; i < from! + at + run; i++) {
          const distance = data[i]! - shift;
          squares += distance * distance;
        }
      });
      data[stats! + 2 * g + 1] = 1 / Math.sqrt(squares / count + eps);
    }
    this.standardizeGroupsByStats(view, at, sizes);
  },

  standardizeGroupsByStats(view: Real, [from, to, stats, weight, bias]: Numbers, sizes: Numbers) {
    const data = this[view];
    const [, groups, , run, weights] = sizes as [number, number, number, number, number];
    for (let g = 0; g < groups; g++) {
      const shift = data[stats! + 2 * g]!;
      const scale = data[stats! + 2 * g + 1]!;
      this.eachRun(g, sizes, (at, own) => {
        const factor = weights === 0 ? scale : scale * data[weight! + own]!;
        for (let i = at; i < at + run; i++) {
          const value = (data[from! + i]! - shift) * factor;
          data[to! + i] = weights === 0 ? value : value + data[bias! + own]!;
        }
      });
    }
  },

  standardizeGradGroups(
    view: Real,
    [dy, from, to, stats, weight]: Numbers,
    sizes: Numbers,
    centered: number,
  ) {
    const data = this[view];
    const [outer, groups, length, run, weights] = sizes as [number, number, number, number, number];
    for (let g = 0; g < groups; g++) {
      const mean = data[stats! + 2 * g]!;
      const scale = data[stats! + 2 * g + 1]!;
      const factorOf = (own: number) => (weights === 0 ? 1 : data[weight! + own]!);
      let sum = 0;
      let along = 0;
      this.eachRun(g, sizes, (at, own) => {
        const factor = factorOf(own);
        for (let i = at; i < at + run; i++) {
          const gradient = data[dy! + i]! * factor;
          sum += gradient;
          along += gradient * (data[from! + i]! - mean);
        }
      });
      const shift = centered ? sum / (outer * length) : 0;
      const slope = (along * scale * scale) / (outer * length);
      this.eachRun(g, sizes, (at, own) => {
        const factor = factorOf(own);
        for (let i = at; i < at + run; i++) {
          const gradient = data[dy! + i]! * factor;
          data[to! + i] = scale * (gradient - shift - (data[from! + i]! - mean) * slope);
        }
      });
    }
  },

  standardizeWeightGradRuns(view: Real, [dy, from, stats, to]: Numbers, sizes: Numbers) {
    const data = this[view];
    const [outer, groups, , run, weights] = sizes as [number, number, number, number, number];
    const sums = new Float64Array(weights);
    for (let o = 0; o < outer; o++) {
      for (let g = 0; g < groups; g++) {
        const mean = data[stats! + 2 * g]!;
        const scale = data[stats! + 2 * g + 1]!;
        const add = (at: number, own: number) => {
          let sum = 0;
          for (let i = at; i < at + run; i++) sum += data[dy! + i]! * (data[from! + i]! - mean);
          sums[own]! += sum * scale;
        };
        this.eachRun(g, sizes, add, o, o + 1);
      }
    }
    data.set(sums, to!);
  },

  /** Cumulative sums or products; integers wrap. */
  scan(
    kind: string,
    view: View,
    from: number,
    to: number,
    [size, step, outer]: Numbers,
    reverse: number,
    isInteger: number,
  ) {
    const data = this[view];
    this.eachLine(size!, step!, outer!, (first) => {
      let result = kind === 'cumsum' ? 0 : 1;
      for (let n = 0; n < size!; n++) {
        const at = first + (reverse ? size! - 1 - n : n) * step!;
        const value = data[from + at]!;
        if (kind === 'cumsum') result = isInteger ? (result + value) | 0 : result + value;
        else result = isInteger ? Math.imul(result, value) : result * value;
        data[to + at] = result;
      }
    });
  },

  /** The first sorted entries of each row and their positions; the sort is stable, and NaN is the largest. */
  sortRows(
    view: View,
    [from, values, places]: Numbers,
    [size, step, outer, count]: Numbers,
    sign: number,
  ) {
    const data = this[view];
    this.eachLine(size!, step!, outer!, (start, place) => {
      const first = from! + start;
      const order = Int32Array.from({ length: size! }, (_, k) => k).sort((a, b) => {
        const [x, y] = [data[first + a * step!]!, data[first + b * step!]!];
        if (x < y) return -sign;
        if (x > y) return sign;
        return sign * (Number(Number.isNaN(x)) - Number(Number.isNaN(y)));
      });
      // The results have `count` entries where the operand has `size`.
      const into = ((start - place) / size!) * count! + place;
      for (let k = 0; k < count!; k++) {
        const to = into + k * step!;
        data[values! + to] = data[first + order[k]! * step!]!;
        this.i32[places! + to] = order[k]!;
      }
    });
  },

  /** Each entry is a weighted sum: `starts` says which terms belong to it. */
  resampleRows(
    view: Real,
    from: number,
    to: number,
    [size, step, outer]: Numbers,
    starts: Numbers,
    indices: Numbers,
    weights: Numbers,
  ) {
    const data = this[view];
    const count = starts.length - 1;
    for (let o = 0; o < outer!; o++) {
      for (let i = 0; i < count; i++) {
        for (let j = 0; j < step!; j++) {
          let sum = 0;
          for (let k = starts[i]!; k < starts[i + 1]!; k++) {
            sum += weights[k]! * data[from + (o * size! + indices[k]!) * step! + j]!;
          }
          data[to + (o * count + i) * step! + j] = sum;
        }
      }
    }
  },

  resampleGradRows(
    view: Real,
    from: number,
    to: number,
    [size, step, outer]: Numbers,
    starts: Numbers,
    indices: Numbers,
    weights: Numbers,
  ) {
    const data = this[view];
    const count = starts.length - 1;
    data.fill(0, to, to + outer! * size! * step!);
    for (let o = 0; o < outer!; o++) {
      for (let i = 0; i < count; i++) {
        for (let k = starts[i]!; k < starts[i + 1]!; k++) {
          const at = to + (o * size! + indices[k]!) * step!;
          for (let j = 0; j < step!; j++) {
            data[at + j]! += weights[k]! * data[from + (o * count + i) * step! + j]!;
          }
        }
      }
    }
  },

  /** A convolution or one of its gradients: products of two operands are added to the third, `into`. */
  convolution(
    view: Real,
    at: Numbers,
    into: number,
    [batch, groups, channels, outChannels]: Numbers,
    [height, width, outHeight, outWidth]: Numbers,
    [kernelHeight, kernelWidth, strideH, strideW, top, left, dilationH, dilationW]: Numbers,
  ) {
    const data = this[view];
    const round = view === 'f32' ? Math.fround : (value: number) => value;
    const [one, other] = [0, 1, 2].filter((k) => k !== into) as [number, number];
    const outAll = groups! * outChannels!;
    for (let n = 0; n < batch!; n++) {
      for (let o = 0; o < outAll; o++) {
        const firstPlane = n * groups! * channels! + Math.floor(o / outChannels!) * channels!;
        for (let place = 0; place < outHeight! * outWidth!; place++) {
          const [oh, ow] = [Math.floor(place / outWidth!), place % outWidth!];
          const y = (n * outAll + o) * outHeight! * outWidth! + place;
          for (let c = 0; c < channels!; c++) {
            for (let tap = 0; tap < kernelHeight! * kernelWidth!; tap++) {
              const [kh, kw] = [Math.floor(tap / kernelWidth!), tap % kernelWidth!];
              const h = oh * strideH! - top! + kh * dilationH!;
              const v = ow * strideW! - left! + kw * dilationW!;
              if (h < 0 || h >= height! || v < 0 || v >= width!) continue;
              const x = ((firstPlane + c) * height! + h) * width! + v;
              const w = (o * channels! + c) * kernelHeight! * kernelWidth! + tap;
              const places = [at[0]! + y, at[1]! + x, at[2]! + w] as const;
              const to = places[into]!;
              data[to] = data[to]! + round(data[places[one]!]! * data[places[other]!]!);
            }
          }
        }
      }
    }
  },
} satisfies Record<string, unknown> & ThisType<HostMemory & RowMethods>;

interface RowMethods {
  eachLine: EachLine;
  eachRun(
    group: number,
    sizes: Numbers,
    body: (first: number, weight: number) => void,
    from?: number,
    end?: number,
  ): void;
  standardizeGroupsByStats(view: Real, at: Numbers, sizes: Numbers): void;
}
