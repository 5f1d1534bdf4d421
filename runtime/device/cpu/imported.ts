/** Functions in JavaScript, also for generated kernels where WebAssembly has no instruction. */
export const imported = {
  /** 1 to any power is 1, and so is −1 to an infinite one, as in C. */
  pow: (x: number, y: number): number =>
    x === 1 || (x === -1 && Math.abs(y) === Infinity) ? 1 : x ** y,
  rem: (x: number, y: number): number => x % y,
  sin: (x: number): number => Math.sin(x),
  cos: (x: number): number => Math.cos(x),
  /** By squaring, modulo 2^32; a negative power of anything but ±1 is 0. */
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
