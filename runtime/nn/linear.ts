import { reshape } from '../ops/movement/movement.ts';
import { add } from '../ops/pointwise/pointwise.ts';
import { linear, matmul } from '../ops/products/matmul.ts';
import { shapeOf } from '../ops/record/expect-tensors.ts';
import { expectSizes } from '../options/expect-arguments.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { flag } from '../options/option-kinds.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module/module.ts';
import { kaimingUniform, type Parameter } from './module/parameter.ts';

export interface LinearOptions {
  /** True by default. */
  readonly bias?: boolean;
}

const linearKinds: OptionKinds<LinearOptions> = { bias: flag };

/** Returns `bias` from the options, or from PyTorch's positional argument. Throws ArgumentError for anything else. */
function hasBias(owner: string, options: LinearOptions | boolean): boolean {
  if (typeof options === 'boolean') return options;
  expectOptions(owner, options, linearKinds);
  return options.bias ?? true;
}

/** `x · weightᵀ + bias`: [..., in] → [..., out]; weight [out, in], bias [out]. */
export class Linear extends Module {
  weight: Parameter;
  bias: Parameter | null;

  constructor(
    inFeatures: number,
    outFeatures: number,
    options: LinearOptions | boolean = {},
    ...surplus: []
  ) {
    super(...surplus);
    expectSizes('nn.Linear', { inFeatures, outFeatures });
    const bias = hasBias('Linear', options);
    this.weight = kaimingUniform([outFeatures, inFeatures], inFeatures);
    this.bias = bias ? kaimingUniform([outFeatures], inFeatures) : null;
  }

  override forward(input: Tensor): Tensor {
    return linear(input, this.weight, this.bias);
  }
}

/** Each output is x₁ᵀ · A · x₂ + b: [..., in1] and [..., in2] → [..., out]; weight [out, in1, in2]. */
export class Bilinear extends Module {
  weight: Parameter;
  bias: Parameter | null;

  constructor(
    in1: number,
    in2: number,
    outFeatures: number,
    options: LinearOptions | boolean = {},
    ...surplus: []
  ) {
    super(...surplus);
    expectSizes('nn.Bilinear', { in1, in2, outFeatures });
    const bias = hasBias('Bilinear', options);
    this.weight = kaimingUniform([outFeatures, in1, in2], in1);
    this.bias = bias ? kaimingUniform([outFeatures], in1) : null;
  }

  override forward(first: Tensor, second: Tensor): Tensor {
    return tidy(() => {
      // [n, 1, 1, in1] · [out, in1, in2] · [n, 1, in2, 1] → [n, out, 1, 1]
      const [in1, in2] = [shapeOf('Bilinear', first).at(-1)!, shapeOf('Bilinear', second).at(-1)!];
      const left = reshape(first, [-1, 1, 1, in1]);
      const right = reshape(second, [-1, 1, in2, 1]);
      const products = matmul(matmul(left, this.weight), right);
      const output = reshape(products, [...first.shape.slice(0, -1), this.weight.shape[0]!]);
      return this.bias ? add(output, this.bias) : output;
    });
  }
}
