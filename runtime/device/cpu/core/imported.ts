import { math } from '../../../numerics/math.ts';

/** Functions in JavaScript; generated kernels call them where WebAssembly has no instruction. */
export const imported = {
  /** float32 powers. Cubes are products, as in generated kernels. */
  pow: (x: number, y: number): number => (y === 3 ? x * x * x : math.pow(x, y)),
  rem: (x: number, y: number): number => x % y,
  sin: (x: number): number => math.sin(x),
  cos: (x: number): number => math.cos(x),
  /** Integer powers by squaring, modulo 2^32; a negative power of anything except ±1 is 0. */
  intPow: (x: number, y: number): number => {
    if (y < 0) return x === 1 ? 1 : x === -1 ? (y & 1 ? -1 : 1) : 0;
    let power = 1;
    for (let [square, left] = [x, y]; left > 0; left >>>= 1) {
      if (left & 1) power = Math.imul(power, square);
      square = Math.imul(square, square);
    }
    return power;
  },
  intRem: (x: number, y: number): number => (x % y) | 0,
  intQuotient: (x: number, y: number): number => (x / y) | 0,
} as const;
