/** Naive references of special functions, losses per element, and cuts. */

import type { Attrs } from '../../../runtime/device/kernel-op.ts';
import type { DType } from '../../../runtime/spec/dtype.ts';
import type { Shape } from '../../../runtime/spec/shape.ts';
import { pointwise, type Reference } from './reference.ts';

interface Input {
  readonly shape: Shape;
  readonly dtype: DType;
  readonly range: readonly [low: number, high: number];
}

interface Case {
  readonly inputs: readonly Input[];
  readonly attrs: Attrs;
  readonly reference: Reference;
}

const float = (low: number, high: number, shape: Shape = [3, 5]): Input => ({
  shape,
  dtype: 'float32',
  range: [low, high],
});

const one = (low: number, high: number, fn: (x: number) => number, attrs: Attrs = {}): Case => ({
  inputs: [float(low, high)],
  attrs,
  reference: pointwise(([x]) => fn(x!)),
});

function two(
  fn: (x: number, y: number) => number,
  [low, high]: readonly [number, number] = [-2, 2],
  attrs: Attrs = {},
): Case[] {
  const shapes: [Shape, Shape][] = [
    [
      [3, 4],
      [3, 4],
    ],
    [
      [2, 1, 4],
      [3, 1],
    ],
  ];
  return shapes.map(([a, b]) => ({
    inputs: [float(low, high, a), float(low, high, b)],
    attrs,
    reference: pointwise(([x, y]) => fn(x!, y!)),
  }));
}

/** The integral of e^(−t²) by Simpson's rule. */
function erf(x: number): number {
  const steps = 2000;
  const h = x / steps;
  let sum = 0;
  for (let i = 0; i <= steps; i++) {
    const weight = i === 0 || i === steps ? 1 : i % 2 === 1 ? 4 : 2;
    sum += weight * Math.exp(-((i * h) ** 2));
  }
  return ((2 / Math.sqrt(Math.PI)) * sum * h) / 3;
}

/** By bisection. */
function erfinv(y: number): number {
  let [low, high] = [-7, 7];
  for (let i = 0; i < 80; i++) {
    const middle = (low + high) / 2;
    if (erf(middle) < y) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** ln Γ by its product, far out by Stirling's series. */
function lgamma(x: number): number {
  let [shift, at] = [0, x];
  for (; at < 60; at++) shift += Math.log(Math.abs(at));
  const series = (at - 0.5) * Math.log(at) - at + 0.5 * Math.log(2 * Math.PI);
  return series + 1 / (12 * at) - 1 / (360 * at ** 3) - shift;
}

function digamma(x: number): number {
  let [shift, at] = [0, x];
  for (; at < 60; at++) shift += 1 / at;
  return Math.log(at) - 1 / (2 * at) - 1 / (12 * at ** 2) + 1 / (120 * at ** 4) - shift;
}

/** Σ −n!·(−1)ⁿ (x + k)^−(n + 1), with what is left as an integral. */
function polygamma(n: number, x: number): number {
  const factorial = [1, 1, 2, 6][n]!;
  let sum = 0;
  let at = x;
  for (; at < 400; at++) sum += at ** -(n + 1);
  sum += at ** -n / n + at ** -(n + 1) / 2 + ((n + 1) * at ** -(n + 2)) / 12;
  return (n % 2 === 0 ? -1 : 1) * factorial * sum;
}

/** The density of the gamma distribution with shape a divides the slope of its distribution function, a sum. */
function gammaSlope(x: number, a: number): number {
  const below = (shape: number): number => {
    let [sum, term] = [0, 1 / shape];
    for (let n = 1; n < 200; n++) {
      sum += term;
      term *= x / (shape + n);
    }
    return sum * Math.exp(shape * Math.log(x) - x - lgamma(shape));
  };
  const [near, far] = [1, 2].map((steps) => below(a + steps * 1e-3) - below(a - steps * 1e-3));
  const slope = (8 * near! - far!) / 12e-3;
  return -slope / Math.exp((a - 1) * Math.log(x) - x - lgamma(a));
}

/** The mean of e^(x cos θ) cos nθ over the circle, which few points give exactly. */
const bessel = (n: number) => (x: number) => {
  const angles = Array.from({ length: 64 }, (_, k) => (k * Math.PI) / 32);
  return angles.reduce((sum, a) => sum + (Math.exp(x * Math.cos(a)) * Math.cos(n * a)) / 64, 0);
};

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
const gated = (x: number, lambd: number) => (Math.abs(x) <= lambd ? 0 : x);

/** The gradient of a cut: dy where x is kept. */
const keptGradient = (keeps: (x: number) => boolean) => (dy: number, x: number) =>
  keeps(x) ? dy : 0;

export const specialCases: Readonly<Record<string, readonly Case[]>> = {
  erfinv: [one(-0.95, 0.95, erfinv)],
  lgamma: [one(0.1, 12, lgamma), one(-0.9, -0.1, lgamma)],
  digamma: [one(0.1, 12, digamma), one(-2.9, -0.1, digamma)],
  polygamma: [
    one(0.2, 12, (x) => polygamma(1, x), { order: 1 }),
    one(-0.9, 3, (x) => polygamma(2, x), { order: 2 }),
  ],
  i0: [one(-7, 12, bessel(0))],
  i1: [one(-7, 12, bessel(1))],
  gammaSlope: [
    {
      inputs: [float(0.2, 6), float(0.3, 5)],
      attrs: {},
      reference: pointwise(([x, a]) => gammaSlope(x!, a!)),
    },
  ],
  sinc: [one(-3, 3.1, (x) => Math.sin(Math.PI * x) / (Math.PI * x))],
  signbit: [one(-2, 2, (x) => Number(x < 0))],
  threshold: [
    one(-2, 2, (x) => (x > 0.3 ? x : 9), { threshold: 0.3, value: 9 }),
    { ...one(-3, 3, (x) => (x > 0.5 ? x : 9), { threshold: 0.5, value: 9 }) },
  ],
  hardshrink: [one(-2, 2, (x) => gated(x, 0.5), { lambd: 0.5 })],
  softshrink: [one(-2, 2, (x) => Math.sign(x) * Math.max(Math.abs(x) - 0.5, 0), { lambd: 0.5 })],
  celu: [one(-2, 2, (x) => (x > 0 ? x : 1.5 * Math.expm1(x / 1.5)), { alpha: 1.5 })],
  thresholdGrad: two(
    keptGradient((x) => x > 0.3),
    [-2, 2],
    { threshold: 0.3, value: 9 },
  ).slice(0, 1),
  hardshrinkGrad: two(
    keptGradient((x) => Math.abs(x) > 0.5),
    [-2, 2],
    { lambd: 0.5 },
  ).slice(0, 1),
  softshrinkGrad: two(
    keptGradient((x) => Math.abs(x) > 0.5),
    [-2, 2],
    { lambd: 0.5 },
  ).slice(0, 1),
  celuGrad: two((dy, x) => (x > 0 ? dy : dy * Math.exp(x / 1.5)), [-2, 2], { alpha: 1.5 }).slice(
    0,
    1,
  ),
  prelu: two((x, weight) => (x > 0 ? x : weight * x)),
  scaleGradient: two((x) => x),
  xlogy: two((x, y) => x * Math.log(y), [0.1, 3]),
  fmax: two(Math.max),
  fmin: two(Math.min),
  hypot: two(Math.hypot),
  copysign: two((x, y) => (y < 0 ? -Math.abs(x) : Math.abs(x))),
  heaviside: two((x, y) => (x === 0 ? y : Number(x > 0))),
  logaddexp: two((x, y) => Math.log(Math.exp(x) + Math.exp(y))),
  logaddexp2: two((x, y) => Math.log2(2 ** x + 2 ** y)),
  logaddexpShare: two((x, y) => sigmoid(x - y)),
  logaddexp2Share: two((x, y) => 2 ** x / (2 ** x + 2 ** y)),
  smoothL1: two(
    (x, y) => (Math.abs(x - y) < 0.7 ? (x - y) ** 2 / 1.4 : Math.abs(x - y) - 0.35),
    [-2, 2],
    { beta: 0.7 },
  ),
  binaryCrossEntropy: two((x, y) => -(y * Math.log(x) + (1 - y) * Math.log(1 - x)), [0.05, 0.95]),
  binaryCrossEntropyWithLogits: two((x, y) => {
    const p = sigmoid(x);
    return -(y * Math.log(p) + (1 - y) * Math.log(1 - p));
  }),
};
