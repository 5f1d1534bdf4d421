/** Activation modules; only PReLU has parameters. */

import { argumentsOf } from '../functional/arguments-of.ts';
import { full } from '../ops/movement/create.ts';
import { logSoftmax, softmax } from '../ops/normalization/softmax.ts';
import {
  elu,
  gelu,
  hardsigmoid,
  hardswish,
  hardtanh,
  leakyRelu,
  logSigmoid,
  mish,
  neg,
  relu,
  relu6,
  selu,
  sigmoid,
  silu,
  softplus,
  softsign,
  tanh,
} from '../ops/pointwise/pointwise.ts';
import { geluKinds } from '../ops/pointwise/smooth-activations.ts';
import { prelu } from '../ops/pointwise/thresholds.ts';
import { anyInteger, anyNumber, count } from '../options/option-kinds.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module/module.ts';
import { type Parameter, parameter } from './module/parameter.ts';

/** max(x, 0), any shape. */
export class ReLU extends Module {
  override forward(input: Tensor): Tensor {
    return relu(input);
  }
}

/** tanh(x), any shape. */
export class Tanh extends Module {
  override forward(input: Tensor): Tensor {
    return tanh(input);
  }
}

/** 1 / (1 + e⁻ˣ), any shape. */
export class Sigmoid extends Module {
  override forward(input: Tensor): Tensor {
    return sigmoid(input);
  }
}

/** The logarithm of the sigmoid. */
export class LogSigmoid extends Module {
  override forward(input: Tensor): Tensor {
    return logSigmoid(input);
  }
}

/** eˣ divided by its sum along `dim`, the last dimension by default. */
export class Softmax extends Module {
  readonly dim: number;

  constructor(dim: number | { readonly dim?: number } = -1, ...surplus: []) {
    super(...surplus);
    this.dim = argumentsOf('Softmax', { dim: anyInteger }, dim).dim ?? -1;
  }

  override forward(input: Tensor): Tensor {
    return softmax(input, this.dim);
  }
}

/** The softmax of −x. */
export class Softmin extends Softmax {
  override forward(input: Tensor): Tensor {
    return tidy(() => softmax(neg(input), this.dim));
  }
}

/** Softmax over the channels of [n, c, h, w] or [c, h, w]. */
export class Softmax2d extends Softmax {
  constructor(...surplus: []) {
    super(-3, ...surplus);
  }
}

/** The logarithm of the softmax. */
export class LogSoftmax extends Softmax {
  override forward(input: Tensor): Tensor {
    return logSoftmax(input, this.dim);
  }
}

/** min(max(x, 0), 6), any shape. */
export class ReLU6 extends Module {
  override forward(input: Tensor): Tensor {
    return relu6(input);
  }
}

/** Scaled ELU, which preserves mean 0 and variance 1. */
export class SELU extends Module {
  override forward(input: Tensor): Tensor {
    return selu(input);
  }
}

/** x · sigmoid(x) */
export class SiLU extends Module {
  override forward(input: Tensor): Tensor {
    return silu(input);
  }
}

/** x · tanh(softplus(x)) */
export class Mish extends Module {
  override forward(input: Tensor): Tensor {
    return mish(input);
  }
}

/** x / (1 + |x|) */
export class Softsign extends Module {
  override forward(input: Tensor): Tensor {
    return softsign(input);
  }
}

/** Piecewise linear: 0 up to −3, 1 from 3. */
export class Hardsigmoid extends Module {
  override forward(input: Tensor): Tensor {
    return hardsigmoid(input);
  }
}

/** x · hardsigmoid(x) */
export class Hardswish extends Module {
  override forward(input: Tensor): Tensor {
    return hardswish(input);
  }
}

/** x if positive, else alpha · (eˣ − 1). */
export class ELU extends Module {
  readonly alpha: number;

  constructor(alpha: number | { readonly alpha?: number } = 1, ...surplus: []) {
    super(...surplus);
    this.alpha = argumentsOf('ELU', { alpha: anyNumber }, alpha).alpha ?? 1;
  }

  override forward(input: Tensor): Tensor {
    return elu(input, this.alpha);
  }
}

/** x if positive, else negativeSlope · x. */
export class LeakyReLU extends Module {
  readonly negativeSlope: number;

  constructor(negativeSlope: number | { readonly negativeSlope?: number } = 0.01, ...surplus: []) {
    super(...surplus);
    const kinds = { negativeSlope: anyNumber };
    this.negativeSlope = argumentsOf('LeakyReLU', kinds, negativeSlope).negativeSlope ?? 0.01;
  }

  override forward(input: Tensor): Tensor {
    return leakyRelu(input, this.negativeSlope);
  }
}

/** min(max(x, min), max), any shape. */
export class Hardtanh extends Module {
  readonly min: number;
  readonly max: number;

  constructor(
    min: number | { readonly minVal?: number; readonly maxVal?: number } = -1,
    max?: number,
    ...surplus: []
  ) {
    super(...surplus);
    const kinds = { minVal: anyNumber, maxVal: anyNumber };
    const { minVal = -1, maxVal = 1 } = argumentsOf('Hardtanh', kinds, min, max);
    this.min = minVal;
    this.max = maxVal;
  }

  override forward(input: Tensor): Tensor {
    return hardtanh(input, this.min, this.max);
  }
}

/** ln(1 + e^(beta · x)) / beta, or x where beta · x exceeds the threshold. */
export class Softplus extends Module {
  readonly beta: number;
  readonly threshold: number;

  constructor(
    first: number | { readonly beta?: number; readonly threshold?: number } = 1,
    second?: number,
    ...surplus: []
  ) {
    super(...surplus);
    const kinds = { beta: anyNumber, threshold: anyNumber };
    const { beta = 1, threshold = 20 } = argumentsOf('Softplus', kinds, first, second);
    this.beta = beta;
    this.threshold = threshold;
  }

  override forward(input: Tensor): Tensor {
    return softplus(input, this.beta, this.threshold);
  }
}

/** x times the standard normal CDF at x; `tanh` selects an approximation. */
export class GELU extends Module {
  readonly approximate: 'none' | 'tanh';

  constructor(
    approximate: 'none' | 'tanh' | { readonly approximate?: 'none' | 'tanh' } = 'none',
    ...surplus: []
  ) {
    super(...surplus);
    this.approximate = argumentsOf('GELU', geluKinds, approximate).approximate ?? 'none';
  }

  override forward(input: Tensor): Tensor {
    return gelu(input, this.approximate);
  }
}

const preluKinds = { numParameters: count(1), init: anyNumber };

/** Leaky ReLU with a learned slope: one for all elements, or one per channel (dimension 1). */
export class PReLU extends Module {
  weight: Parameter;

  constructor(
    parameters: number | { readonly numParameters?: number; readonly init?: number } = 1,
    start?: number,
    ...surplus: []
  ) {
    super(...surplus);
    const { numParameters = 1, init = 0.25 } = argumentsOf('PReLU', preluKinds, parameters, start);
    this.weight = parameter(full([numParameters], init));
  }

  override forward(input: Tensor): Tensor {
    return prelu(input, this.weight);
  }
}
