/** Naive references of pointwise ops. */

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

type Numbers = (values: readonly number[], attrs: Readonly<Record<string, number>>) => number;

const float = (low = -2, high = 2, shape: Shape = [3, 5]): Input => ({
  shape,
  dtype: 'float32',
  range: [low, high],
});
const int = (low = -7, high = 8, shape: Shape = [9]): Input => ({
  shape,
  dtype: 'int32',
  range: [low, high],
});
const bool: Input = { shape: [5], dtype: 'bool', range: [0, 2] };

function example(inputs: readonly Input[], fn: Numbers, attrs: Attrs = {}): Case {
  return {
    inputs,
    attrs,
    reference: (values) =>
      pointwise((own) => fn(own, attrs as Readonly<Record<string, number>>))(values, attrs),
  };
}

const one = (input: Input, fn: (x: number) => number): Case[] => [
  example([input], ([x]) => fn(x!)),
];

/** Equal shapes, and both broadcast. */
function two(fn: (x: number, y: number) => number, ...makes: ((shape: Shape) => Input)[]) {
  return makes.flatMap((make) => [
    example([make([3, 4]), make([3, 4])], ([x, y]) => fn(x!, y!)),
    example([make([2, 1, 4]), make([3, 1])], ([x, y]) => fn(x!, y!)),
  ]);
}

const floats = (shape: Shape) => float(-2.1, 2, shape);
const ints = (shape: Shape) => int(-7, 8, shape);
const logical = (fn: (x: boolean, y: boolean) => boolean): Case[] => [
  ...two(
    (x, y) => Number(fn(x !== 0, y !== 0)),
    (shape) => int(0, 2, shape),
  ),
  example([float(), bool], ([x, y]) => Number(fn(x !== 0, y !== 0))),
];

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
const softplus = (x: number) => Math.log1p(Math.exp(x));
const roundEven = (x: number) => {
  const low = Math.floor(x);
  if (x - low === 0.5) return low % 2 === 0 ? low : low + 1;
  return Math.round(x);
};

/** Abramowitz and Stegun 7.1.5, in double precision. */
function erf(x: number): number {
  let [term, sum] = [x, x];
  for (let k = 1; k < 80; k++) {
    term *= (-x * x) / k;
    sum += term / (2 * k + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

const floorMod = (x: number, y: number) => x - Math.floor(x / y) * y;

/** `${name}`, `${name}Int` and both with a number. */
function division(
  name: string,
  fn: (x: number, y: number) => number,
): Record<string, readonly Case[]> {
  const scalar = (input: Input, value: number) =>
    example([input], ([x], attrs) => fn(x!, attrs.value!), { value });
  // No divisor is 0, and no quotient so near a whole number that float32 could take the other side.
  const intsBut0 = (shape: Shape) => int(1, 9, shape);
  return {
    [name]: two(fn, floats),
    [`${name}Scalar`]: [scalar(float(-9, 9.1), -1.3), scalar(float(-9, 9.1), 0.7)],
    [`${name}Int`]: [
      example([int(-50, 50, [4, 5]), intsBut0([5])], ([x, y]) => fn(x!, y!)),
      example([int(-50, 50, [4, 5]), int(-8, -1, [5])], ([x, y]) => fn(x!, y!)),
    ],
    [`${name}IntScalar`]: [scalar(int(-50, 50, [20]), 7), scalar(int(-50, 50, [20]), -3)],
  };
}

const attrs = { alpha: 1.5, negativeSlope: 0.2, min: -1, max: 1, beta: 2, threshold: 3 };
const clampBetween = (x: number, low: number, high: number) => Math.min(Math.max(x, low), high);

const tanhInner = (x: number) => Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3);
const [seluAlpha, seluScale] = [1.6732632423543772, 1.0507009873554805];

const activations: Readonly<Record<string, (x: number) => number>> = {
  elu: (x) => (x > 0 ? x : 1.5 * Math.expm1(x)),
  selu: (x) => seluScale * (x > 0 ? x : seluAlpha * Math.expm1(x)),
  leakyRelu: (x) => (x > 0 ? x : 0.2 * x),
  hardtanh: (x) => clampBetween(x, -1, 1),
  hardsigmoid: (x) => clampBetween(x + 3, 0, 6) / 6,
  hardswish: (x) => (x * clampBetween(x + 3, 0, 6)) / 6,
  silu: (x) => x * sigmoid(x),
  softplus: (x) => (2 * x > 3 ? x : softplus(2 * x) / 2),
  logSigmoid: (x) => -softplus(-x),
  softsign: (x) => x / (1 + Math.abs(x)),
  mish: (x) => x * Math.tanh(softplus(x)),
  gelu: (x) => (x / 2) * (1 + erf(x * Math.SQRT1_2)),
  geluTanh: (x) => (x / 2) * (1 + Math.tanh(tanhInner(x))),
};

/** By a difference: `gradients.test.ts` compares with the op itself, this with the formula. */
const slope = (fn: (x: number) => number) => (x: number) => (fn(x + 1e-6) - fn(x - 1e-6)) / 2e-6;

const activationCases = Object.fromEntries(
  Object.entries(activations).flatMap(([name, fn]) => [
    [name, [example([float(-4.1, 4.2)], ([x]) => fn(x!), attrs)]],
    [
      `${name}Grad`,
      [example([float(), float(-4.1, 4.2)], ([dy, x]) => dy! * slope(fn)(x!), attrs)],
    ],
  ]),
);

export const pointwiseReferences: Readonly<Record<string, readonly Case[]>> = {
  ...activationCases,
  ...division('floorDivide', (x, y) => Math.floor(x / y)),
  ...division('truncDivide', (x, y) => Math.trunc(x / y)),
  ...division('remainder', floorMod),
  ...division('fmod', (x, y) => x % y),
  minimum: two(Math.min, floats, ints),
  logicalAnd: logical((x, y) => x && y),
  logicalOr: logical((x, y) => x || y),
  logicalXor: logical((x, y) => x !== y),
  integerPairs: [
    example([int(-7, 8, [4, 5]), int(-7, 8, [4, 5])], ([x, y]) => x! & y!, { fn: 'and' }),
    example([int(1, 90, [20]), int(0, 5, [20])], ([x, y]) => x! << y!, { fn: 'shiftLeft' }),
    example([bool, bool], ([x, y]) => x! ^ y!, { fn: 'xor' }),
  ],
  logicalNot: [...one(int(0, 2), (x) => Number(x === 0)), ...one(bool, (x) => 1 - x)],
  isnan: [...one(float(), () => 0), ...one(int(), () => 0)],
  isinf: [...one(float(), () => 0), ...one(int(), () => 0)],
  isfinite: [...one(float(), () => 1), ...one(int(), () => 1)],
  maskedFill: [
    example([float(-2, 2, [2, 5]), bool], ([x, mask]) => (mask ? 7 : x!), { value: 7 }),
    example([int(-7, 8, [5]), bool], ([x, mask]) => (mask ? -3 : x!), { value: -3 }),
  ],
  floor: [...one(float(-9, 9), Math.floor), ...one(int(), (x) => x)],
  ceil: [...one(float(-9, 9), Math.ceil), ...one(int(), (x) => x)],
  trunc: [...one(float(-9, 9), Math.trunc), ...one(int(), (x) => x)],
  round: [...one(float(-9, 9), roundEven), ...one(float(-7.5, 7.5), roundEven)],
  clamp: [
    example([float()], ([x]) => clampBetween(x!, -1, 1), attrs),
    example([int()], ([x]) => Math.max(x!, 2), { min: 2, max: Infinity }),
  ],
  clampGrad: [example([float(), float()], ([dy, x]) => (Math.abs(x!) <= 1 ? dy! : 0), attrs)],
  nanToNum: [example([float()], ([x]) => x!, { nan: 0, posinf: 1, neginf: -1 })],
  exp2: one(float(-20, 20), (x) => 2 ** x),
  expm1: one(float(-4, 4), Math.expm1),
  log2: one(float(0.001, 100), Math.log2),
  log10: one(float(0.001, 100), Math.log10),
  log1p: one(float(-0.9, 5), Math.log1p),
  sin: one(float(-9, 9), Math.sin),
  cos: one(float(-9, 9), Math.cos),
  tan: one(float(-1.5, 1.5), Math.tan),
  asin: one(float(-1, 1), Math.asin),
  acos: one(float(-1, 1), Math.acos),
  atan: one(float(-9, 9), Math.atan),
  atan2: two(Math.atan2, floats),
  sinh: one(float(-4, 4), Math.sinh),
  cosh: one(float(-4, 4), Math.cosh),
  asinh: one(float(-9, 9), Math.asinh),
  acosh: one(float(1, 9), Math.acosh),
  atanh: one(float(-0.99, 0.99), Math.atanh),
  erf: one(float(-3, 3), erf),
  erfc: one(float(-2, 2), (x) => 1 - erf(x)),
  rsqrt: one(float(0.01, 9), (x) => 1 / Math.sqrt(x)),
  reciprocal: one(float(0.1, 9), (x) => 1 / x),
  pow: [
    ...two(
      (x, y) => x ** y,
      (shape) => float(0.1, 3, shape),
    ),
    example([int(-4, 5, [6, 1]), int(0, 6, [5])], ([x, y]) => x! ** y!),
  ],
  powBaseScalar: [
    example([float()], ([x]) => 1.7 ** x!, { value: 1.7 }),
    example([int(0, 8)], ([x]) => (-3) ** x!, { value: -3 }),
  ],
};
