import type { Launch } from '../../device.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import {
  hostCalls,
  hostKernel,
  hostMethods,
  type Numbers,
  placesOf,
  type View,
  viewOf,
} from '../core/host-kernels.ts';
import { alongDim, type ReductionKind, reductionOver } from '../core/reduction.ts';

export const reductionMethods = hostMethods({
  /**
   * The sum, product, maximum or minimum, in shape order; float32 sums and products are rounded once, integers wrap,
   * and NaN wins over maxima and minima, as in PyTorch.
   */
  reduceElements(
    view: View,
    places: Numbers,
    outView: View,
    kind: ReductionKind,
    kept: Numbers,
    keptSteps: readonly Numbers[],
    reduced: Numbers,
    reducedSteps: Numbers,
  ): void {
    const [data, results] = [this[view], this[outView]];
    const isInteger = view === 'i32' || view === 'u8';
    const isSum = kind === 'sum';
    const isProduct = kind === 'prod';
    const sign = kind === 'min' ? -1 : 1;
    const start = isSum ? 0 : isProduct ? 1 : -sign * Number.POSITIVE_INFINITY;
    const at = [...places];
    const steps = [reducedSteps];
    this.walk(kept, keptSteps, at, () => {
      let result = start;
      const from = [at[0]!];
      this.walk(reduced, steps, from, () => {
        const value = data[from[0]!]!;
        if (isSum) result = isInteger ? (result + value) | 0 : result + value;
        else if (isProduct) result = isInteger ? Math.imul(result, value) : result * value;
        else if (sign * value > sign * result || Number.isNaN(value)) result = value;
      });
      results[at[1]!] = result;
    });
  },
});

/** Reduces element by element, in shape order. */
export function reduction(
  x: TensorMeta,
  out: TensorMeta,
  dims: readonly number[],
  kind: ReductionKind,
): Launch {
  const { kept, reduced } = reductionOver(x, dims);
  const metas = [x, out];
  const view = viewOf[x.dtype];
  const loops = [kept.shape, kept.strides, reduced.shape, reduced.strides[0]!] as const;
  const args = [viewOf[out.dtype], kind, ...loops] as const;
  return ([source], [target]) => {
    const at = placesOf([source!, target!], metas);
    hostCalls.call(reductionMethods, 'reduceElements', [view, at, ...args]);
  };
}

export const extremeMethods = hostMethods({
  /** The position of the first maximum (sign 1) or minimum (sign −1); NaN counts as both. */
  placesOfExtremes(view: View, [from, to]: Numbers, sizes: Numbers, sign: 1 | -1): void {
    const data = this[view];
    const [size, step, outer] = sizes as [number, number, number];
    const places = this.i32;
    let out = to!;
    // The loops' numbers are local, because captured ones are slower.
    for (let o = 0; o < outer; o++) {
      for (let i = 0; i < step; i++) {
        const first = from! + o * size * step + i;
        let best = 0;
        let top = data[first]!;
        for (let k = 1; k < size && !Number.isNaN(top); k++) {
          const value = data[first + k * step]!;
          if (sign * value > sign * top || Number.isNaN(value)) {
            best = k;
            top = value;
          }
        }
        places[out++] = best;
      }
    }
  },
});

const placesOfExtremes = (sign: 1 | -1) =>
  hostKernel(
    extremeMethods,
    'placesOfExtremes',
    ([x], [out]) => [x, out],
    ([x], _outputs, { dim }) => {
      const { size, stride, outer } = alongDim(x!.shape, dim as number);
      return [[size, stride, outer], sign];
    },
  );

export const argmax = placesOfExtremes(1);
export const argmin = placesOfExtremes(-1);
