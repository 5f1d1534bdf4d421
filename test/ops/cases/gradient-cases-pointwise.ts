import type { Attrs } from '../../../runtime/device/kernel-op.ts';
import { bind1 } from '../../../runtime/ops/core/bind.ts';
import { opNamed } from '../../../runtime/ops/op-table.ts';
import * as ops from '../../../runtime/ops/pointwise/pointwise.ts';
import type { Shape } from '../../../runtime/spec/shape.ts';
import { type Tensor, tensor } from '../eager.ts';
import type { GradientCase } from './gradient-cases.ts';

type Range = readonly [low: number, high: number];

/** Off the kinks at whole numbers. */
const around = [-0.9, 1.1] as const;

const on = (
  name: string,
  shapes: readonly Shape[],
  run: (...inputs: Tensor[]) => Tensor,
  range: Range = [-1, 1],
): GradientCase => ({ name, shapes, range, run });

function unary(run: (x: Tensor) => Tensor, range: Range = around): GradientCase[] {
  return [
    on('[2,3]', [[2, 3]], run, range),
    on('scalar', [[]], run, range),
    on('transposed', [[3, 4]], (x) => run(x.transpose(0, 1)), range),
  ];
}

function binary(run: (x: Tensor, y: Tensor) => Tensor, range: Range = around): GradientCase[] {
  const both = run as (...inputs: Tensor[]) => Tensor;
  return [
    on(
      'equal shapes',
      [
        [2, 3],
        [2, 3],
      ],
      both,
      range,
    ),
    on(
      'both broadcast',
      [
        [2, 1, 3],
        [4, 1],
      ],
      both,
      range,
    ),
    on('scalar', [[], [2, 2]], both, range),
  ];
}

const attrs: Attrs = { alpha: 1.5, negativeSlope: 0.2, min: -0.6, max: 0.7, beta: 2, threshold: 3 };

/** The op that computes an activation's gradient; `bent`: it depends on x, too. */
const gradient = (name: string, bent = true): GradientCase[] => {
  const run = (dy: Tensor, x: Tensor) => bind1(opNamed(`${name}Grad`), [dy, x], attrs);
  const constant = on('[2,3], constant', [[2, 3]], (dy) =>
    run(
      dy!,
      tensor([
        [-4.1, 5.2, 0.3],
        [2.2, -2.4, -0.7],
      ]),
    ),
  );
  const pair: readonly Shape[] = [
    [2, 3],
    [2, 3],
  ];
  return bent ? [constant, on('[2,3]', pair, (dy, x) => run(dy!, x!), around)] : [constant];
};

const activations = {
  elu: (x: Tensor) => ops.elu(x, 1.5),
  selu: ops.selu,
  leakyRelu: (x: Tensor) => ops.leakyRelu(x, 0.2),
  hardtanh: (x: Tensor) => ops.hardtanh(x, -0.6, 0.7),
  hardsigmoid: ops.hardsigmoid,
  hardswish: ops.hardswish,
  silu: ops.silu,
  softplus: (x: Tensor) => ops.softplus(x, 2, 3),
  logSigmoid: ops.logSigmoid,
  softsign: ops.softsign,
  mish: ops.mish,
  gelu: (x: Tensor) => ops.gelu(x),
  geluTanh: (x: Tensor) => ops.gelu(x, 'tanh'),
};

const straight = ['leakyRelu', 'hardtanh', 'hardsigmoid'];

const activationCases = Object.fromEntries(
  Object.entries(activations).flatMap(([name, run]) => [
    [name, unary(run)],
    [`${name}Grad`, gradient(name, !straight.includes(name))],
  ]),
);

const mask = () => tensor([true, false, true]);
const positive = [0.5, 2] as const;
const inside = [-0.8, 0.85] as const;

export const pointwiseCases: Readonly<Record<string, readonly GradientCase[]>> = {
  ...activationCases,
  minimum: [
    ...binary((x, y) => x.minimum(y), [-1, 1]),
    on('clamped by tensors', [[2, 4], [4], [2, 1]], (x, low, high) => x!.clamp(low, high)),
  ],
  clamp: [
    ...unary((x) => x.clamp(-0.6, 0.7)),
    on('from below', [[2, 3]], (x) => x!.clamp(0.1)),
    on('from above', [[2, 3]], (x) => x!.clamp(null, 0.1)),
  ],
  clampGrad: gradient('clamp', false),
  where: [
    on('entries filled, one of them twice', [[2, 3], []], (x, by) =>
      x!.indexFill(1, tensor([2, 0, 2], { dtype: 'int32' }), by!),
    ),
    on('interpolated', [[2, 3], [2, 3], [3]], (a, b, w) => ops.where(mask(), a!.lerp(b!, w!), a!)),
  ],
  maskedFill: [
    on('mask broadcast', [[2, 3]], (x) => x!.maskedFill(mask(), 4)),
    on('by where', [[3]], (x) => ops.where(mask(), x!, 2).add(ops.where(mask(), 3, x!))),
    on('both broadcast', [[2, 1]], (x) => x!.maskedFill(mask(), -1)),
  ],
  nanToNum: unary((x) => x.nanToNum()),
  remainder: binary((x, y) => x.mul(0.1).add(2.5).remainder(y.mul(0.1).add(1))),
  remainderScalar: unary((x) => x.remainder(0.45), [0.05, 0.4]),
  fmod: binary((x, y) => x.mul(0.1).sub(2.5).fmod(y.mul(0.1).add(1))),
  fmodScalar: unary((x) => x.fmod(0.45), [0.05, 0.4]),
  exp2: unary((x) => x.exp2()),
  expm1: unary((x) => x.expm1()),
  log2: unary((x) => x.log2(), positive),
  log10: unary((x) => x.log10(), positive),
  log1p: unary((x) => x.log1p(), inside),
  sin: unary((x) => x.sin()),
  cos: unary((x) => x.cos()),
  tan: unary((x) => x.tan()),
  asin: unary((x) => x.asin(), inside),
  acos: unary((x) => x.acos(), inside),
  atan: unary((x) => x.atan()),
  atan2: binary((x, y) => x.atan2(y), positive),
  sinh: unary((x) => x.sinh()),
  cosh: unary((x) => x.cosh()),
  asinh: unary((x) => x.asinh()),
  acosh: unary((x) => x.acosh(), [1.5, 3]),
  atanh: unary((x) => x.atanh(), [-0.6, 0.65]),
  erf: unary((x) => x.erf()),
  erfc: unary((x) => x.erfc()),
  rsqrt: unary((x) => x.rsqrt(), positive),
  reciprocal: unary((x) => x.reciprocal(), positive),
  pow: [
    ...binary((x, y) => x.pow(y), positive),
    on('of a negative number', [[2, 3]], (x) => x!.pow(tensor([0, 2, 3])), [-2, -0.5]),
  ],
  powBaseScalar: [
    ...unary((x) => ops.pow(1.7, x)),
    on('zero', [[2, 3]], (x) => ops.pow(0, x!), positive),
  ],
};
