import type { Attrs, KernelFactory } from '../../kernel-op.ts';
import {
  hostKernel,
  hostMethods,
  type Numbers,
  type RealView,
  type View,
} from '../core/host-kernels.ts';
import { lineMethods } from '../core/loops.ts';
import { alongDim } from '../core/reduction.ts';

type Elements = Float32Array | Float64Array | Int32Array | Uint16Array | Uint8Array;

/**
 * Each row is processed from end to end. A scan is a chain of dependent operations, so vectors don't help within a row.
 * The last operand is the result.
 */
export const scanMethods = hostMethods({
  ...lineMethods,

  /** float32 is summed in double precision, so that errors don't grow along the row; integers wrap. */
  cumsum(view: View, [x, out]: Numbers, sizes: Numbers, reverse: boolean): void {
    const data = this[view];
    const isInteger = view === 'i32' || view === 'u8';
    const [size, step] = sizes as [number, number];
    const first = reverse ? (size - 1) * step : 0;
    const by = reverse ? -step : step;
    this.eachLine(sizes, (start) =>
      this.sumRow(data, x! + start + first, out! + start + first, by, size, isInteger),
    );
  },

  /** A separate method, because numbers captured by a closure would make the loop slower. */
  sumRow(
    data: Elements,
    from: number,
    to: number,
    by: number,
    size: number,
    isInteger: boolean,
  ): void {
    let sum = 0;
    for (let n = 0; n < size; n++) {
      sum = isInteger ? (sum + data[from]!) | 0 : sum + data[from]!;
      data[to] = sum;
      from += by;
      to += by;
    }
  },

  cumprod(view: View, [x, out]: Numbers, sizes: Numbers): void {
    const data = this[view];
    const isInteger = view === 'i32' || view === 'u8';
    const [size, step] = sizes as [number, number];
    this.eachLine(sizes, (start) =>
      this.multiplyRow(data, x! + start, out! + start, step, size, isInteger),
    );
  },

  multiplyRow(
    data: Elements,
    from: number,
    to: number,
    by: number,
    size: number,
    isInteger: boolean,
  ): void {
    let product = 1;
    for (let n = 0; n < size; n++) {
      const value = data[from]!;
      product = isInteger ? Math.imul(product, value) : product * value;
      data[to] = product;
      from += by;
      to += by;
    }
  },

  /**
   * dx[i] is the product before i times rest[i], with rest[i] = dy[i] + x[i + 1] · rest[i + 1]: without division, so
   * zeros need no special case.
   */
  cumprodGrad(view: RealView, [dy, x, out]: Numbers, sizes: Numbers): void {
    const data = this[view];
    const [size, step] = sizes as [number, number];
    this.eachLine(sizes, (start) => {
      let rest = 0;
      for (let n = size - 1; n >= 0; n--) {
        const at = start + n * step;
        const next = n + 1 < size ? data[x! + at + step]! : 0;
        rest = data[dy! + at]! + next * rest;
        data[out! + at] = rest;
      }
      let before = 1;
      for (let n = 0; n < size; n++) {
        const at = start + n * step;
        data[out! + at]! *= before;
        before *= data[x! + at]!;
      }
    });
  },

  /** Tracks the preferred value so far (the largest for sign 1), and its last index; NaN is kept. */
  runningExtreme(view: View, [x, values, places]: Numbers, sizes: Numbers, sign: 1 | -1): void {
    const data = this[view];
    const [size, step] = sizes as [number, number];
    this.eachLine(sizes, (start) => {
      let best = 0;
      let place = 0;
      for (let n = 0; n < size; n++) {
        const at = start + n * step;
        const value = data[x! + at]!;
        // Comparisons with NaN are false: the first NaN is kept, but later ones move the index.
        if (n === 0 || Number.isNaN(value) || sign * value >= sign * best) {
          best = value;
          place = n;
        }
        data[values! + at] = best;
        this.i32[places! + at] = place;
      }
    });
  },

  /** In double precision, relative to the largest entry so far. */
  logcumsumexp(view: RealView, [x, out]: Numbers, sizes: Numbers): void {
    const data = this[view];
    const { exp, log } = this.math;
    const [size, step] = sizes as [number, number];
    this.eachLine(sizes, (start) => {
      let largest = Number.NEGATIVE_INFINITY;
      let sum = 0;
      for (let n = 0; n < size; n++) {
        const value = data[x! + start + n * step]!;
        if (value > largest) {
          sum = largest === Number.NEGATIVE_INFINITY ? 0 * sum : sum * exp(largest - value);
          largest = value;
        }
        if (Number.isNaN(value)) sum = Number.NaN;
        else if (value === largest) sum += 1;
        else sum += exp(value - largest);
        // If the largest entry is infinite, subtracting it from itself would give NaN.
        data[out! + start + n * step] = Number.isNaN(sum) ? sum : largest + log(sum || 1);
      }
    });
  },

  logcumsumexpGrad(view: RealView, [dy, x, out, dx]: Numbers, sizes: Numbers): void {
    const data = this[view];
    const { exp } = this.math;
    const [size, step] = sizes as [number, number];
    this.eachLine(sizes, (start) => {
      // rest = Σ over the entries from here on of dy · e^(anchor − out), with a decreasing anchor.
      let rest = 0;
      let anchor = 0;
      for (let n = size - 1; n >= 0; n--) {
        const at = start + n * step;
        const own = data[out! + at]!;
        const gradient = data[dy! + at]!;
        // Infinite results are equal, though their difference is NaN.
        const falling = own === anchor ? 1 : exp(own - anchor);
        rest = n === size - 1 ? gradient : rest * falling + gradient;
        anchor = own;
        const share = exp(data[x! + at]! - anchor);
        data[dx! + at] = share === 0 ? 0 : rest * share;
      }
    });
  },
});

const along = <N extends keyof typeof scanMethods>(
  name: N,
  more: (attrs: Attrs) => readonly unknown[] = () => [],
): KernelFactory =>
  hostKernel(
    scanMethods,
    name,
    (inputs, outputs) => [...inputs, ...outputs],
    ([x], _outputs, attrs) => {
      const { size, stride, outer } = alongDim(x!.shape, attrs.dim as number);
      return [[size, stride, outer], ...more(attrs)] as never;
    },
  );

export const cumsum = along('cumsum', ({ reverse }) => [Boolean(reverse)]);
export const cumprod = along('cumprod');
export const cumprodGrad = along('cumprodGrad');
export const logcumsumexp = along('logcumsumexp');
export const logcumsumexpGrad = along('logcumsumexpGrad');
export const cummax = along('runningExtreme', () => [1]);
export const cummin = along('runningExtreme', () => [-1]);
