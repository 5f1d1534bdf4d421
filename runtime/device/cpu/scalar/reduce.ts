import { type DType, dtypes } from '../../../spec/dtype.ts';
import type { Launch } from '../../device.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { heap } from '../core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../core/kernel.ts';
import { walk } from '../core/loops.ts';
import { alongDim, type ReductionKind, reductionOver } from '../core/reduction.ts';

type Round = (value: number) => number;

/** Returns the rounding to the dtype that a kernel computes in; float64 is JavaScript's own. */
export const roundingOf = (dtype: DType): Round => (dtype === 'float64' ? (x) => x : Math.fround);

interface Fold {
  readonly start: number;
  readonly step: (result: number, value: number) => number;
}

/** NaN wins over maxima and minima, as in PyTorch. float32 sums and products are rounded once. */
const folds: { readonly [K in ReductionKind]: Fold } = {
  sum: { start: 0, step: (a, b) => a + b },
  prod: { start: 1, step: (a, b) => a * b },
  max: { start: -Infinity, step: (a, b) => (b > a || Number.isNaN(b) ? b : a) },
  min: { start: Infinity, step: (a, b) => (b < a || Number.isNaN(b) ? b : a) },
};

const wrapping: Partial<typeof folds> = {
  sum: { start: 0, step: (a, b) => (a + b) | 0 },
  prod: { start: 1, step: Math.imul },
};

/** Reduces element by element, in shape order. */
export function reduction(
  x: TensorMeta,
  out: TensorMeta,
  dims: readonly number[],
  kind: ReductionKind,
): Launch {
  const { kept, reduced } = reductionOver(x, dims);
  const { start, step } = (dtypes[x.dtype].floating ? null : wrapping[kind]) ?? folds[kind];
  return ([source], [target]) => {
    const data = heap.view(x.dtype);
    const results = heap.view(out.dtype);
    const at = [indexOf(source!, x.dtype), indexOf(target!, out.dtype)];
    walk(kept, at, () => {
      let result = start;
      const from = [at[0]!];
      walk(reduced, from, () => {
        result = step(result, data[from[0]!]!);
      });
      results[at[1]!] = result;
    });
  };
}

/** Returns the position of the first maximum (sign 1) or minimum (sign −1); NaN counts as both. */
function placeOf(sign: 1 | -1): KernelFactory {
  return ([x], [out], { dim }) => {
    expectContiguous(x!, out!);
    const { size, stride, outer } = alongDim(x!.shape, dim as number);
    return ([source], [target]) => {
      const data = heap.view(x!.dtype);
      const from = indexOf(source!, x!.dtype);
      let to = indexOf(target!, 'int32');
      for (let o = 0; o < outer; o++) {
        for (let i = 0; i < stride; i++) {
          const first = from + o * size * stride + i;
          let best = 0;
          for (let k = 1; k < size; k++) {
            const value = data[first + k * stride]!;
            const top = data[first + best * stride]!;
            const isFirstNaN = Number.isNaN(value) && !Number.isNaN(top);
            if (sign * value > sign * top || isFirstNaN) best = k;
          }
          heap.i32[to++] = best;
        }
      }
    };
  };
}

export const argmax = placeOf(1);
export const argmin = placeOf(-1);
