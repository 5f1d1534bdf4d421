/** Activations of PyTorch's nn.functional. */

import * as ours from '../../runtime/index.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { type Adapter, type Adapters, adapter } from './arguments.ts';

const unary = (name: string, fn: (x: Tensor) => Tensor) =>
  adapter(`${name}(x)`, 'input inplace', (given) => fn(given.tensor('input')));

/** Numbers by position or name, each with PyTorch's default. */
function withNumbers(
  name: string,
  defaults: Readonly<Record<string, number>>,
  fn: (x: Tensor, ...numbers: number[]) => Tensor,
): Adapter {
  const names = Object.keys(defaults);
  return adapter(`${name}(x, ${names.join(', ')})`, `input ${names.join(' ')}`, (given) =>
    fn(given.tensor('input'), ...names.map((own) => given.number(own, defaults[own]))),
  );
}

const functional: Adapters = {
  relu: unary('relu', ours.relu),
  relu6: unary('relu6', ours.relu6),
  hardswish: unary('hardswish', ours.hardswish),
  hardsigmoid: unary('hardsigmoid', ours.hardsigmoid),
  selu: unary('selu', ours.selu),
  silu: unary('silu', ours.silu),
  mish: unary('mish', ours.mish),
  logsigmoid: unary('logSigmoid', ours.logSigmoid),
  softsign: unary('softsign', ours.softsign),
  tanhshrink: unary('tanhshrink', ours.tanhshrink),
  leaky_relu: withNumbers('leakyRelu', { negative_slope: 0.01 }, ours.leakyRelu),
  elu: withNumbers('elu', { alpha: 1 }, ours.elu),
  celu: withNumbers('celu', { alpha: 1 }, ours.celu),
  softplus: withNumbers('softplus', { beta: 1, threshold: 20 }, ours.softplus),
  threshold: withNumbers('threshold', { threshold: 0, value: 0 }, ours.threshold),
  softshrink: withNumbers('softshrink', { lambd: 0.5 }, ours.softshrink),
  hardshrink: withNumbers('hardshrink', { lambd: 0.5 }, ours.hardshrink),
  hardtanh: withNumbers('hardtanh', { min_val: -1, max_val: 1 }, ours.hardtanh),
  glu: withNumbers('glu', { dim: -1 }, ours.glu),
  gelu: adapter('gelu(x, approximate)', 'input approximate', (given) =>
    ours.gelu(given.tensor('input'), given.text<'none' | 'tanh'>('approximate', 'none')),
  ),
  prelu: adapter('prelu(x, weight)', 'input weight', (given) =>
    ours.prelu(given.tensor('input'), given.tensor('weight')),
  ),
};

export const activationAdapters: Adapters = Object.fromEntries(
  Object.entries(functional).map(([name, own]) => [`nn.functional.${name}`, own]),
);
