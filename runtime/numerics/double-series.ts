/** Coefficients of float64 series that generated kernels evaluate, the highest power first. */

const factorial = (n: number): number => (n < 2 ? 1 : n * factorial(n - 1));

/** 1/21, 1/19, … 1/3: ln m = 2 · (s + s³/3 + s⁵/5 + …) for s = (m − 1)/(m + 1). */
export const logarithmSeries = Array.from({ length: 10 }, (_, i) => 1 / (21 - 2 * i));

/** The fraction of a float32 above which it is halved, so that its logarithm is small. */
export const largestMantissa = Math.fround(Math.SQRT2);

/** 1/13!, 1/12!, … 1/0! */
export const exponentialSeries = Array.from({ length: 14 }, (_, i) => 1 / factorial(13 - i));

/** −1/15!, 1/13!, … −1/3!: sin x = x + x³ · series(x²). */
export const sineSeries = Array.from(
  { length: 7 },
  (_, i) => (i % 2 === 0 ? -1 : 1) / factorial(15 - 2 * i),
);

/** 1/16!, −1/14!, … 1/4!: cos x = 1 − x²/2 + x⁴ · series(x²). */
export const cosineSeries = Array.from(
  { length: 7 },
  (_, i) => (i % 2 === 0 ? 1 : -1) / factorial(16 - 2 * i),
);
