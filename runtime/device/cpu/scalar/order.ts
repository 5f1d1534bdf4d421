import type { DType } from '../../../spec/dtype.ts';
import { sizeOf } from '../../../spec/shape.ts';
import { heap } from '../core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../core/kernel.ts';

/** Writes unsigned 32-bit keys in the order of a row's elements, which are `step` apart. */
type Keys = (keys: Uint32Array, first: number, step: number) => void;

const exponentBits = 0x7f800000;
const signBit = -0x80000000;

function keysOfFloats(keys: Uint32Array, first: number, step: number): void {
  const bits = heap.i32;
  for (let k = 0; k < keys.length; k++) {
    const own = bits[first + k * step]!;
    // NaN counts as the largest, and −0 equals 0. Signs change too often for a branch.
    if ((own & 0x7fffffff) > exponentBits) keys[k] = 0xffffffff;
    else keys[k] = own === signBit ? signBit : own ^ ((own >> 31) | signBit);
  }
}

const keysOfIntegers =
  (dtype: DType): Keys =>
  (keys, first, step) => {
    const data = heap.view(dtype);
    for (let k = 0; k < keys.length; k++) keys[k] = data[first + k * step]! ^ 0x80000000;
  };

/** From this length on, clearing the counts of digits takes less time than comparing. */
const leastByDigits = 64;

/** From this length on, fewer passes make up for more counts. */
const leastByWideDigits = 8192;

/** Positions of keys in ascending order, equal ones in the order of their positions. */
class Order {
  /** To be written before each call, which overwrites them. */
  readonly keys: Uint32Array;
  readonly #positions: Int32Array;
  readonly #otherKeys: Uint32Array;
  readonly #otherPositions: Int32Array;
  readonly #digitBits: 8 | 11;
  readonly #counts: Int32Array;

  constructor(length: number) {
    this.keys = new Uint32Array(length);
    this.#positions = new Int32Array(length);
    this.#otherKeys = new Uint32Array(length);
    this.#otherPositions = new Int32Array(length);
    this.#digitBits = length < leastByWideDigits ? 8 : 11;
    this.#counts = new Int32Array(Math.ceil(32 / this.#digitBits) * 2 ** this.#digitBits);
  }

  /** All positions, valid until the next call. */
  all(): Int32Array {
    return this.keys.length < leastByDigits ? this.#byInsertion() : this.#byDigits();
  }

  #byInsertion(): Int32Array {
    return this.first(this.keys.length);
  }

  /** A radix sort, by the lowest digit first. */
  #byDigits(): Int32Array {
    let [keys, positions] = [this.keys, this.#positions];
    let [otherKeys, otherPositions] = [this.#otherKeys, this.#otherPositions];
    const { length } = keys;
    for (let k = 0; k < length; k++) positions[k] = k;
    this.#countDigits();
    const digits = 2 ** this.#digitBits;
    for (let pass = 0; pass * this.#digitBits < 32; pass++) {
      const shift = pass * this.#digitBits;
      const counts = this.#counts.subarray(pass * digits, (pass + 1) * digits);
      // All keys may have the same digit.
      if (counts[(keys[0]! >>> shift) & (digits - 1)] === length) continue;
      let start = 0;
      for (let digit = 0; digit < digits; digit++) {
        const count = counts[digit]!;
        counts[digit] = start;
        start += count;
      }
      for (let k = 0; k < length; k++) {
        const key = keys[k]!;
        const digit = (key >>> shift) & (digits - 1);
        const to = counts[digit]!;
        counts[digit] = to + 1;
        otherKeys[to] = key;
        otherPositions[to] = positions[k]!;
      }
      [keys, positions, otherKeys, otherPositions] = [otherKeys, otherPositions, keys, positions];
    }
    return positions;
  }

  /** Counts all digits of the keys in one loop: consecutive keys often have a digit in common, and would wait. */
  #countDigits(): void {
    const counts = this.#counts.fill(0);
    const { keys } = this;
    if (this.#digitBits === 8) {
      for (let k = 0; k < keys.length; k++) {
        const key = keys[k]!;
        counts[key & 255]!++;
        counts[256 + ((key >>> 8) & 255)]!++;
        counts[512 + ((key >>> 16) & 255)]!++;
        counts[768 + (key >>> 24)]!++;
      }
      return;
    }
    for (let k = 0; k < keys.length; k++) {
      const key = keys[k]!;
      counts[key & 2047]!++;
      counts[2048 + ((key >>> 11) & 2047)]!++;
      counts[4096 + (key >>> 22)]!++;
    }
  }

  /** The positions of the first `count` keys. */
  first(count: number): Int32Array {
    const { keys } = this;
    const kept = new Uint32Array(count);
    const positions = this.#positions;
    let taken = 0;
    for (let k = 0; k < keys.length; k++) {
      const key = keys[k]!;
      if (taken === count && key >= kept[count - 1]!) continue;
      if (taken < count) taken++;
      let at = taken - 1;
      for (; at > 0 && kept[at - 1]! > key; at--) {
        kept[at] = kept[at - 1]!;
        positions[at] = positions[at - 1]!;
      }
      kept[at] = key;
      positions[at] = k;
    }
    return positions;
  }
}

/** From this count on, sorting everything is as fast as keeping the first ones. */
const few = 32;

/** The positions of float64 values in order, equal ones in the order of their positions. */
function orderOfDoubles(values: Float64Array, sign: 1 | -1): Int32Array {
  // NaN counts as the largest.
  const compare = (a: number, b: number): number => {
    const [x, y] = [values[a]!, values[b]!];
    if (x < y) return -sign;
    if (x > y) return sign;
    return sign * (Number(Number.isNaN(x)) - Number(Number.isNaN(y)));
  };
  return Int32Array.from(values, (_, k) => k).sort(compare);
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
  const keysOf = x!.dtype === 'float32' ? keysOfFloats : keysOfIntegers(x!.dtype);
  const sign = attrs.descending ? -1 : 1;
  return ([source], [values, indices]) => {
    const data = heap.view(x!.dtype);
    const order = isDouble ? null : new Order(size);
    const doubles = isDouble ? new Float64Array(size) : null;
    const from = indexOf(source!, x!.dtype);
    const toValues = indexOf(values!, out!.dtype);
    const toIndices = indexOf(indices!, 'int32');
    const sorted = (first: number): Int32Array => {
      if (doubles) {
        for (let k = 0; k < size; k++) doubles[k] = data[first + k * inner]!;
        return orderOfDoubles(doubles, sign);
      }
      const { keys } = order!;
      keysOf(keys, first, inner);
      if (sign < 0) for (let k = 0; k < size; k++) keys[k] = ~keys[k]!;
      return count < few ? order!.first(count) : order!.all();
    };
    for (let o = 0; o < outer; o++) {
      for (let i = 0; i < inner; i++) {
        const first = from + o * size * inner + i;
        const positions = sorted(first);
        const to = o * count * inner + i;
        for (let k = 0; k < count; k++) {
          const position = positions[k]!;
          data[toValues + to + k * inner] = data[first + position * inner]!;
          heap.i32[toIndices + to + k * inner] = position;
        }
      }
    }
  };
};
