import { math } from '../../../numerics/math.ts';
import { dtypes, type TypedArray } from '../../../spec/dtype.ts';
import { heap } from '../core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../core/kernel.ts';
import { alongDim } from '../core/reduction.ts';

/** Processes one row. A scan is a chain of dependent operations, so vectors don't help within a row. */
type Row = (data: readonly TypedArray[], at: readonly number[], size: number, step: number) => void;

/** Calls `row` with the positions of each row's first elements; the last operand is the output. */
function alongRows(rowFor: (integers: boolean, reverse: boolean) => Row): KernelFactory {
  return (inputs, [out], { dim, reverse }) => {
    expectContiguous(...inputs, out!);
    const { size, stride, outer } = alongDim(out!.shape, dim as number);
    const row = rowFor(!dtypes[out!.dtype].floating, Boolean(reverse));
    const kinds = [...inputs, out!].map(({ dtype }) => dtype);
    return (sources, [target]) => {
      const data = kinds.map((dtype) => heap.view(dtype));
      const first = [...sources, target!].map((operand, k) => indexOf(operand, kinds[k]!));
      for (let o = 0; o < outer; o++) {
        for (let i = 0; i < stride; i++) {
          const start = o * size * stride + i;
          row(
            data,
            first.map((place) => place + start),
            size,
            stride,
          );
        }
      }
    };
  };
}

/** float32 is summed in double precision, so that errors don't grow along the row. */
export const cumsum = alongRows((integers, reverse) => ([x, out], [from, to], size, step) => {
  let sum = 0;
  for (let n = 0; n < size; n++) {
    const at = (reverse ? size - 1 - n : n) * step;
    sum = integers ? (sum + x![from! + at]!) | 0 : sum + x![from! + at]!;
    out![to! + at] = sum;
  }
});

export const cumprod = alongRows((integers) => ([x, out], [from, to], size, step) => {
  let product = 1;
  for (let n = 0; n < size; n++) {
    const value = x![from! + n * step]!;
    product = integers ? Math.imul(product, value) : product * value;
    out![to! + n * step] = product;
  }
});

/**
 * dx[i] is the product before i times rest[i], with rest[i] = dy[i] + x[i + 1] · rest[i + 1]: without division, so
 * zeros need no special case.
 */
export const cumprodGrad = alongRows(() => ([dy, x, out], [fromDy, fromX, to], size, step) => {
  let rest = 0;
  for (let n = size - 1; n >= 0; n--) {
    const next = n + 1 < size ? x![fromX! + (n + 1) * step]! : 0;
    rest = dy![fromDy! + n * step]! + next * rest;
    out![to! + n * step] = rest;
  }
  let before = 1;
  for (let n = 0; n < size; n++) {
    out![to! + n * step]! *= before;
    before *= x![fromX! + n * step]!;
  }
});

/** Tracks the preferred value so far, and its last index; NaN is kept. */
function runningExtreme(sign: 1 | -1): KernelFactory {
  return ([x], [out], { dim }) => {
    expectContiguous(x!, out!);
    const { dtype } = x!;
    const { size, stride, outer } = alongDim(x!.shape, dim as number);
    return ([source], [values, indices]) => {
      const data = heap.view(dtype);
      const [from, to] = [indexOf(source!, dtype), indexOf(values!, dtype)];
      const places = indexOf(indices!, 'int32');
      for (let o = 0; o < outer; o++) {
        for (let i = 0; i < stride; i++) {
          const start = o * size * stride + i;
          let best = 0;
          let place = 0;
          for (let n = 0; n < size; n++) {
            const at = start + n * stride;
            const value = data[from + at]!;
            // Comparisons with NaN are false: the first NaN is kept, but later ones move the index.
            if (n === 0 || Number.isNaN(value) || sign * value >= sign * best) {
              best = value;
              place = n;
            }
            data[to + at] = best;
            heap.i32[places + at] = place;
          }
        }
      }
    };
  };
}

export const cummax = runningExtreme(1);
export const cummin = runningExtreme(-1);

/** In double precision, relative to the largest entry so far. */
export const logcumsumexp = alongRows(() => ([x, out], [from, to], size, step) => {
  let largest = Number.NEGATIVE_INFINITY;
  let sum = 0;
  for (let n = 0; n < size; n++) {
    const value = x![from! + n * step]!;
    if (value > largest) {
      sum = Math.abs(largest) === Number.POSITIVE_INFINITY ? sum : sum * math.exp(largest - value);
      largest = value;
    }
    if (Number.isNaN(value)) sum = Number.NaN;
    else if (value === largest) sum += 1;
    else sum += math.exp(value - largest);
    // If the largest entry is infinite, subtracting it from itself would give NaN.
    out![to! + n * step] = Number.isNaN(sum) ? sum : largest + math.log(sum || 1);
  }
});

export const logcumsumexpGrad = alongRows(
  () =>
    ([dy, x, out, dx], [fromDy, fromX, fromOut, to], size, step) => {
      // rest = Σ over the entries from here on of dy · e^(anchor − out), with a decreasing anchor.
      let rest = 0;
      let anchor = 0;
      for (let n = size - 1; n >= 0; n--) {
        const own = out![fromOut! + n * step]!;
        const gradient = dy![fromDy! + n * step]!;
        rest = n === size - 1 ? gradient : rest * math.exp(own - anchor) + gradient;
        anchor = own;
        const share = math.exp(x![fromX! + n * step]! - anchor);
        dx![to! + n * step] = share === 0 ? 0 : rest * share;
      }
    },
);
