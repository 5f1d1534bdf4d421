import type { TypedArray } from '../../../tensor/dtype.ts';
import { sizeOf } from '../../../tensor/shape.ts';
import { heap } from '../heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../kernel.ts';

/** NaN counts as the largest. */
function compare(a: number, b: number): number {
  if (a < b) return -1;
  if (a > b) return 1;
  return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
}

/** The places of a row's values in order; the sort is stable, so equal ones keep theirs. */
function orderOf(values: TypedArray, descending: boolean): Int32Array {
  const order = Int32Array.from(values, (_, i) => i);
  return descending
    ? order.sort((a, b) => compare(values[b]!, values[a]!))
    : order.sort((a, b) => compare(values[a]!, values[b]!));
}

/** The first `count` of each row along `dim`, and their places. */
export const sort: KernelFactory = ([x], [out], attrs) => {
  expectContiguous(x!);
  const dim = attrs.dim as number;
  const count = attrs.count as number;
  const size = x!.shape[dim]!;
  const inner = sizeOf(x!.shape.slice(dim + 1));
  const outer = sizeOf(x!.shape.slice(0, dim));
  return ([source], [values, indices]) => {
    const data = heap.view(x!.dtype);
    const row = data.slice(0, size);
    const from = indexOf(source!, x!.dtype);
    const toValues = indexOf(values!, out!.dtype);
    const toIndices = indexOf(indices!, 'int32');
    for (let o = 0; o < outer; o++) {
      for (let i = 0; i < inner; i++) {
        const first = from + o * size * inner + i;
        for (let k = 0; k < size; k++) row[k] = data[first + k * inner]!;
        const order = orderOf(row, attrs.descending as boolean);
        const to = o * count * inner + i;
        for (let k = 0; k < count; k++) {
          data[toValues + to + k * inner] = row[order[k]!]!;
          heap.i32[toIndices + to + k * inner] = order[k]!;
        }
      }
    }
  };
};
