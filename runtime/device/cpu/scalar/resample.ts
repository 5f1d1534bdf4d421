import { tapsOf } from '../../../numerics/taps.ts';
import type { Attrs } from '../../kernel-op.ts';
import { hostKernel, hostMethods, type Numbers, type RealView } from '../core/host-kernels.ts';
import { alongDim } from '../core/reduction.ts';

/** The terms of each entry of the result: entries `indices[k]` times `weights[k]`, starting at starts[i]. */
interface Taps {
  readonly starts: Numbers;
  readonly indices: Numbers;
  readonly weights: Numbers;
}

export function allTaps(size: number, count: number, attrs: Attrs): Taps {
  const lists = Array.from({ length: count }, (_, i) => tapsOf(i, size, count, attrs));
  const starts = [0];
  for (const list of lists) starts.push(starts.at(-1)! + list.length);
  const flat = lists.flat();
  return {
    starts,
    indices: flat.map(([index]) => index),
    weights: flat.map(([, weight]) => weight),
  };
}

export const resampleMethods = hostMethods({
  resampleRows(
    view: RealView,
    [source, target]: Numbers,
    [size, step, outer]: Numbers,
    starts: Numbers,
    indices: Numbers,
    weights: Numbers,
  ): void {
    const data = this[view];
    const count = starts.length - 1;
    const row = new Float64Array(step!);
    let to = target!;
    for (let o = 0; o < outer!; o++) {
      const from = source! + o * size! * step!;
      for (let i = 0; i < count; i++) {
        row.fill(0);
        for (let k = starts[i]!; k < starts[i + 1]!; k++) {
          const weight = weights[k]!;
          const at = from + indices[k]! * step!;
          for (let j = 0; j < step!; j++) row[j]! += weight * data[at + j]!;
        }
        for (let j = 0; j < step!; j++) data[to++] = row[j]!;
      }
    }
  },

  resampleGradRows(
    view: RealView,
    [source, to]: Numbers,
    [size, step, outer]: Numbers,
    starts: Numbers,
    indices: Numbers,
    weights: Numbers,
  ): void {
    const data = this[view];
    const count = starts.length - 1;
    let from = source!;
    data.fill(0, to, to! + outer! * size! * step!);
    for (let o = 0; o < outer!; o++) {
      for (let i = 0; i < count; i++, from += step!) {
        for (let k = starts[i]!; k < starts[i + 1]!; k++) {
          const weight = weights[k]!;
          const at = to! + (o * size! + indices[k]!) * step!;
          for (let j = 0; j < step!; j++) data[at + j]! += weight * data[from + j]!;
        }
      }
    }
  },
});

const byRow = (name: keyof typeof resampleMethods) =>
  hostKernel(
    resampleMethods,
    name,
    ([x], [out]) => [x, out],
    ([first], [out], attrs) => {
      const dim = attrs.dim as number;
      const [x, y] = name === 'resampleRows' ? [first!, out!] : [out!, first!];
      const { size, stride, outer } = alongDim(x.shape, dim);
      const { starts, indices, weights } = allTaps(size, y.shape[dim]!, attrs);
      return [[size, stride, outer], starts, indices, weights];
    },
  );

export const resample = byRow('resampleRows');
export const resampleGrad = byRow('resampleGradRows');
