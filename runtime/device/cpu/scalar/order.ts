import { sizeOf } from '../../../spec/shape.ts';
import { heap } from '../core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../core/kernel.ts';

const bits = new Int32Array(1);
const float = new Float32Array(bits.buffer);

/** Maps values to integers below 2^32 in the same order. */
function rankOfFloat(value: number): number {
  // NaN counts as the largest.
  if (Number.isNaN(value)) return 0xffffffff;
  // −0 equals 0.
  float[0] = value + 0;
  return bits[0]! < 0 ? ~bits[0]! >>> 0 : bits[0]! + 2 ** 31;
}

const rankOfInteger = (value: number): number => value + 2 ** 31;

/** A double contains a 32-bit rank and a 21-bit position. */
const places = 2 ** 21;

/** From this count on, sorting everything is as fast as keeping the first ones. */
const few = 32;

/** Writes the positions of the smallest ranks to `order`, sorted stably. */
function orderInto(order: Int32Array, ranks: Float64Array, count: number): void {
  const { length } = ranks;
  if (length > places) {
    const all = Int32Array.from(ranks, (_, k) => k).sort((a, b) => ranks[a]! - ranks[b]!);
    order.set(all.subarray(0, count));
    return;
  }
  // Sorting numbers that contain rank and position is many times faster than sorting with a comparator.
  for (let k = 0; k < length; k++) ranks[k] = ranks[k]! * places + k;
  const first = count < few ? smallest(ranks, count) : ranks.sort();
  for (let k = 0; k < count; k++) order[k] = first[k]! % places;
}

/** Sorts float64 values stably; their rank and position don't fit into one number. */
function orderDoubles(order: Int32Array, values: Float64Array, sign: 1 | -1, count: number): void {
  // NaN counts as the largest.
  const compare = (a: number, b: number): number => {
    const [x, y] = [values[a]!, values[b]!];
    if (x < y) return -sign;
    if (x > y) return sign;
    return sign * (Number(Number.isNaN(x)) - Number(Number.isNaN(y)));
  };
  const all = Int32Array.from(values, (_, k) => k).sort(compare);
  order.set(all.subarray(0, count));
}

/** Returns the `count` smallest numbers in order. */
function smallest(numbers: Float64Array, count: number): Float64Array {
  const kept = new Float64Array(count).fill(Number.POSITIVE_INFINITY);
  for (let i = 0; i < numbers.length; i++) {
    const number = numbers[i]!;
    let at = count - 1;
    if (at < 0 || number >= kept[at]!) continue;
    for (; at > 0 && kept[at - 1]! > number; at--) kept[at] = kept[at - 1]!;
    kept[at] = number;
  }
  return kept;
}

/** Returns the first `count` entries of each sorted row along `dim`, and their positions. */
export const sort: KernelFactory = ([x], [out], attrs) => {
  expectContiguous(x!);
  const dim = attrs.dim as number;
  const count = attrs.count as number;
  const size = x!.shape[dim]!;
  const inner = sizeOf(x!.shape.slice(dim + 1));
  const outer = sizeOf(x!.shape.slice(0, dim));
  const isDouble = x!.dtype === 'float64';
  const rankOf = x!.dtype === 'float32' ? rankOfFloat : rankOfInteger;
  const sign = attrs.descending ? -1 : 1;
  const start = attrs.descending ? 0xffffffff : 0;
  return ([source], [values, indices]) => {
    const data = heap.view(x!.dtype);
    const ranks = new Float64Array(size);
    const order = new Int32Array(count);
    const from = indexOf(source!, x!.dtype);
    const toValues = indexOf(values!, out!.dtype);
    const toIndices = indexOf(indices!, 'int32');
    for (let o = 0; o < outer; o++) {
      for (let i = 0; i < inner; i++) {
        const first = from + o * size * inner + i;
        if (isDouble) {
          for (let k = 0; k < size; k++) ranks[k] = data[first + k * inner]!;
          orderDoubles(order, ranks, sign, count);
        } else {
          for (let k = 0; k < size; k++) ranks[k] = start + sign * rankOf(data[first + k * inner]!);
          orderInto(order, ranks, count);
        }
        const to = o * count * inner + i;
        for (let k = 0; k < count; k++) {
          data[toValues + to + k * inner] = data[first + order[k]! * inner]!;
          heap.i32[toIndices + to + k * inner] = order[k]!;
        }
      }
    }
  };
};
