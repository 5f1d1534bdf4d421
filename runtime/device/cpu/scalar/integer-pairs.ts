/** Functions of two integers or booleans, element by element. */

import { sizeOf } from '../../../spec/shape.ts';
import { heap } from '../core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../core/kernel.ts';

/** Euclid's algorithm. */
function commonDivisor(x: number, y: number): number {
  let [a, b] = [Math.abs(x), Math.abs(y)];
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}

type Pair = (x: number, y: number, bits: number) => number;

/** Shifting by a negative number, or by all bits or more, is equivalent to shifting bit by bit. */
const functions: Readonly<Record<string, Pair>> = {
  and: (x, y) => x & y,
  or: (x, y) => x | y,
  xor: (x, y) => x ^ y,
  shiftLeft: (x, y, bits) => (y < 0 || y >= bits ? 0 : x << y),
  shiftRight: (x, y) => (y < 0 || y > 31 ? x >> 31 : x >> y),
  gcd: commonDivisor,
  lcm: (x, y) => {
    const divisor = commonDivisor(x, y);
    return divisor === 0 ? 0 : Math.abs(Math.imul(x / divisor, y));
  },
};

/** (x, y of one shape and dtype) → the function that attr `fn` names, for each pair of elements. */
export const integerPairs: KernelFactory = ([x, y], [out], { fn }) => {
  expectContiguous(x!, y!, out!);
  const { dtype } = x!;
  const count = sizeOf(out!.shape);
  const compute = functions[fn as string]!;
  const bits = dtype === 'uint8' ? 8 : 32;
  return ([left, right], [target]) => {
    const data = heap.view(dtype);
    const [a, b, to] = [left, right, target].map((each) => indexOf(each!, dtype));
    for (let i = 0; i < count; i++) data[to! + i] = compute(data[a! + i]!, data[b! + i]!, bits);
  };
};
