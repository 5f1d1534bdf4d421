import * as ops from '../../../runtime/ops/pointwise/pointwise.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { type Call, describeRecorded, method } from './recorded-calls.ts';

const renamed: Readonly<Record<string, string>> = {
  clamp_max: 'clampMax',
  clamp_min: 'clampMin',
  floor_divide: 'floorDivide',
  logical_and: 'logicalAnd',
  logical_not: 'logicalNot',
  logical_or: 'logicalOr',
  logical_xor: 'logicalXor',
  masked_fill: 'maskedFill',
  nan_to_num: 'nanToNum',
};

const same =
  'acos acosh addcdiv addcmul asin asinh atan atan2 atanh ceil clamp cos cosh erf erfc exp2 expm1 floor fmod frac isfinite isinf isnan lerp log10 log1p log2 minimum pow reciprocal remainder rsqrt sin sinh square tan trunc';

/** An activation with the arguments that PyTorch names. */
const activation =
  (fn: (x: Tensor, ...rest: never[]) => Tensor, ...names: string[]): Call =>
  (x, args, keywords) => {
    const named = names.map((name) => keywords[name]);
    return (fn as (x: Tensor, ...rest: unknown[]) => Tensor)(x, ...args, ...named);
  };

const activations: Readonly<Record<string, Call>> = {
  elu: activation(ops.elu, 'alpha'),
  selu: activation(ops.selu),
  leaky_relu: activation(ops.leakyRelu, 'negative_slope'),
  silu: activation(ops.silu),
  gelu: activation(ops.gelu, 'approximate'),
  softplus: activation(ops.softplus, 'beta', 'threshold'),
  hardswish: activation(ops.hardswish),
  hardsigmoid: activation(ops.hardsigmoid),
  mish: activation(ops.mish),
  relu6: activation(ops.relu6),
  softsign: activation(ops.softsign),
  logsigmoid: activation(ops.logSigmoid),
  hardtanh: activation(ops.hardtanh, 'min_val', 'max_val'),
};

describeRecorded(
  "pointwise ops give PyTorch's recorded values and gradients",
  new URL('data/pytorch-pointwise.jsonl', import.meta.url),
  {
    ...Object.fromEntries(same.split(' ').map((name) => [name, method(name)])),
    ...Object.fromEntries(Object.entries(renamed).map(([op, name]) => [op, method(name)])),
    ...Object.fromEntries(
      Object.entries(activations).map(([name, call]) => [`nn.functional.${name}`, call]),
    ),
    round: (x, _args, { decimals }) => x.round((decimals as number) ?? 0),
    div: (x, [other], { rounding_mode }) =>
      x.div(other as Tensor, { roundingMode: (rounding_mode as 'floor' | 'trunc') ?? null }),
    xlogy: (x, [y]) => x.xlogy(y as Tensor),
  },
);
