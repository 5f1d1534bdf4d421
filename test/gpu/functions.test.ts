import { describe, it } from 'vitest';
import { tensor } from '../../runtime/ops/core/create.ts';
import * as ops from '../../runtime/ops/pointwise/pointwise.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { gpuForTests, skipGpu } from './open-gpu.ts';
import { expectParity, type Tolerance } from './parity.ts';

const ordinary = [0, 1, -1, 0.5, -0.5, 0.1, -0.3, 2, -2, 3.7, -3.7, 5.5, -7.5, 15, -15, 1e-20];
const special = [...ordinary, -0, 45, -45, 88, -88, 100, -100, 1e20, Infinity, -Infinity, NaN];
const pairs = [0, 1, -1, 0.5, -2.5, 3, 7, -7, Infinity, -Infinity, NaN];
const left = pairs.flatMap((x) => pairs.map(() => x));
const right = pairs.flatMap(() => pairs);

const close: Tolerance = { relative: 2e-5, absolute: 2e-6 };

describe.skipIf(skipGpu)('gpu/functions', () => {
  const gpu = gpuForTests();

  const everywhere: Readonly<Record<string, (x: Tensor) => Tensor>> = {
    tan: (x) => ops.tan(x.clamp(-3.7, 3.7)),
    sin: (x) => ops.sin(x.clamp(-3000, 3000)),
    cos: (x) => ops.cos(x.clamp(-3000, 3000)),
    asin: ops.asin,
    acos: ops.acos,
    atan: ops.atan,
    sinh: ops.sinh,
    cosh: ops.cosh,
    asinh: ops.asinh,
    acosh: ops.acosh,
    atanh: ops.atanh,
    exp2: ops.exp2,
    expm1: ops.expm1,
    log2: ops.log2,
    log10: ops.log10,
    log1p: ops.log1p,
    erf: ops.erf,
    erfc: ops.erfc,
    rsqrt: ops.rsqrt,
    reciprocal: ops.reciprocal,
    floor: ops.floor,
    ceil: ops.ceil,
    trunc: ops.trunc,
    round: (x) => ops.round(x),
    square: ops.square,
    isnan: ops.isnan,
    isinf: ops.isinf,
    isfinite: ops.isfinite,
    logicalNot: ops.logicalNot,
    nanToNum: (x) => ops.nanToNum(x, 7, 8, 9),
    clamp: (x) => ops.clamp(x, -1, 2),
    'clamp from below': (x) => ops.clamp(x, 0.5),
    maskedFill: (x) => ops.maskedFill(x, x.gt(0), -3),
    elu: (x) => ops.elu(x, 1.5),
    selu: ops.selu,
    leakyRelu: (x) => ops.leakyRelu(x, 0.2),
    relu6: ops.relu6,
    hardsigmoid: ops.hardsigmoid,
    hardswish: (x) => ops.hardswish(x.clamp(-100, 100)),
    silu: (x) => ops.silu(x.clamp(-85, 100)),
    softplus: (x) => ops.softplus(x, 2, 10),
    logSigmoid: ops.logSigmoid,
    softsign: (x) => ops.softsign(x.clamp(-100, 100)),
    mish: (x) => ops.mish(x.clamp(-85, 100)),
    gelu: (x) => ops.gelu(x.clamp(-100, 100)),
    'gelu by tanh': (x) => ops.gelu(x.clamp(-100, 100), 'tanh'),
    'number to a power': (x) => ops.pow(2.5, x.clamp(-20, 20)),
  };
  for (const [name, op] of Object.entries(everywhere)) {
    it(`${name} of ordinary and special values`, async () => {
      await expectParity(gpu(), () => op(tensor(special)), close);
    });
  }

  const binary: Readonly<Record<string, (x: Tensor, y: Tensor) => Tensor>> = {
    minimum: ops.minimum,
    atan2: ops.atan2,
    remainder: ops.remainder,
    fmod: ops.fmod,
    floorDivide: ops.floorDivide,
    logicalAnd: ops.logicalAnd,
    logicalOr: ops.logicalOr,
    logicalXor: ops.logicalXor,
  };
  for (const [name, op] of Object.entries(binary)) {
    it(`${name} of every pair of special values`, async () => {
      await expectParity(gpu(), () => op(tensor(left), tensor(right)), close);
    });
  }

  it('integers divide, remain and rise to powers exactly', async () => {
    const numbers = () => tensor(Int32Array.of(-50, -7, -1, 0, 1, 6, 7, 49, 1000003));
    const divisors = () => tensor(Int32Array.of(7, -3, 4, 5, -1, 6, -7, 7, 1009));
    for (const op of [ops.remainder, ops.fmod, ops.floorDivide]) {
      await expectParity(gpu(), () => op(numbers(), divisors()));
      await expectParity(gpu(), () => op(numbers(), -7));
    }
    await expectParity(gpu(), () => ops.div(numbers(), divisors(), { roundingMode: 'trunc' }));
    await expectParity(gpu(), () => ops.pow(tensor(Int32Array.of(-3, 0, 2, 40)), 4));
    await expectParity(gpu(), () => ops.clamp(numbers(), -5, 9));
  });

  const gradients: Readonly<Record<string, (x: Tensor) => Tensor>> = {
    elu: ops.elu,
    selu: ops.selu,
    leakyRelu: ops.leakyRelu,
    relu6: ops.relu6,
    hardsigmoid: ops.hardsigmoid,
    hardswish: ops.hardswish,
    silu: ops.silu,
    softplus: ops.softplus,
    logSigmoid: ops.logSigmoid,
    softsign: ops.softsign,
    mish: ops.mish,
    gelu: (x) => ops.gelu(x),
    'gelu by tanh': (x) => ops.gelu(x, 'tanh'),
    clamp: (x) => ops.clamp(x, -1, 2),
  };
  for (const [name, op] of Object.entries(gradients)) {
    it(`the gradient of ${name}`, async () => {
      const gradient = () => {
        const x = tensor(ordinary, { requiresGrad: true });
        op(x).sum().backward();
        return x.grad!;
      };
      await expectParity(gpu(), gradient, close);
    });
  }
});
