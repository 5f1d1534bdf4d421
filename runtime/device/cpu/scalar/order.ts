import type { KernelFactory } from '../../kernel-op.ts';
import { hostKernel, hostMethods, type Numbers, type View } from '../core/host-kernels.ts';
import { lineMethods } from '../core/loops.ts';
import { alongDim } from '../core/reduction.ts';

export const orderMethods = hostMethods({
  ...lineMethods,

  /** The first sorted entries of each row and their positions; the sort is stable, and NaN is the largest. */
  sortRows(
    view: View,
    [from, values, places]: Numbers,
    sizes: Numbers,
    count: number,
    sign: 1 | -1,
  ): void {
    const data = this[view];
    const [size, step] = sizes as [number, number];
    this.eachLine(sizes, (start, place) => {
      const first = from! + start;
      const order = Int32Array.from({ length: size }, (_, k) => k).sort((a, b) => {
        const [x, y] = [data[first + a * step]!, data[first + b * step]!];
        if (x < y) return -sign;
        if (x > y) return sign;
        return sign * (Number(Number.isNaN(x)) - Number(Number.isNaN(y)));
      });
      // The results have `count` entries where the operand has `size`.
      const into = ((start - place) / size) * count + place;
      for (let k = 0; k < count; k++) {
        data[values! + into + k * step] = data[first + order[k]! * step]!;
        this.i32[places! + into + k * step] = order[k]!;
      }
    });
  },
});

/** Returns the first `count` entries of each sorted row along `dim`, and their positions. */
export const sort: KernelFactory = hostKernel(
  orderMethods,
  'sortRows',
  ([x], [values, places]) => [x, values, places],
  ([x], _outputs, attrs) => {
    const { size, stride, outer } = alongDim(x!.shape, attrs.dim as number);
    return [[size, stride, outer], attrs.count as number, attrs.descending ? -1 : 1];
  },
);
