import { noGrad } from '../autograd/grad-mode.ts';
import { add_, addcdiv_, addcmul_, mul_ } from '../ops/in-place.ts';
import { add, mul, sqrt } from '../ops/pointwise.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { fraction, nonNegative, Optimizer, zerosFor } from './optimizer.ts';

export interface AdamOptions {
  /** 0.001 when left out. */
  readonly lr?: number;
  /** Decay rates of the two moving averages; [0.9, 0.999] when left out. */
  readonly betas?: readonly [number, number];
  readonly eps?: number;
  /** Adam: L2 penalty, 0 when left out. AdamW: decoupled decay, 0.01 when left out. */
  readonly weightDecay?: number;
}

/** Kingma and Ba's Adam, by PyTorch's formulas. */
export class Adam extends Optimizer {
  readonly betas: readonly [number, number];
  readonly eps: number;
  readonly weightDecay: number;
  /** Moving averages of the gradient and of its square, one pair per parameter. */
  readonly averages: readonly Tensor[];
  readonly squares: readonly Tensor[];
  /** Steps taken, for the bias correction. */
  steps = 0;

  constructor(parameters: Iterable<Tensor>, options: AdamOptions = {}) {
    super(parameters, options.lr ?? 1e-3);
    const [beta1, beta2] = options.betas ?? [0.9, 0.999];
    this.betas = [fraction('beta1', beta1), fraction('beta2', beta2)];
    this.eps = nonNegative('eps', options.eps ?? 1e-8);
    this.weightDecay = nonNegative('weightDecay', options.weightDecay ?? 0);
    this.averages = zerosFor(this.parameters);
    this.squares = zerosFor(this.parameters);
  }

  override step(): void {
    this.steps++;
    noGrad(() => {
      for (let i = 0; i < this.parameters.length; i++) {
        const target = this.parameters[i]!;
        const { grad } = target;
        if (!grad) continue;
        tidy(() => {
          const slope = this.decayed(target, grad);
          this.update(target, slope, this.averages[i]!, this.squares[i]!);
        });
      }
    });
  }

  /** The gradient to follow, with the penalty's part in it. */
  protected decayed(target: Tensor, grad: Tensor): Tensor {
    return this.weightDecay > 0 ? add(grad, mul(target, this.weightDecay)) : grad;
  }

  protected update(target: Tensor, slope: Tensor, average: Tensor, square: Tensor): void {
    const [beta1, beta2] = this.betas;
    mul_(average, beta1);
    add_(average, slope, 1 - beta1);
    mul_(square, beta2);
    addcmul_(square, slope, slope, 1 - beta2);
    const denominator = sqrt(square);
    mul_(denominator, 1 / Math.sqrt(1 - beta2 ** this.steps));
    add_(denominator, this.eps);
    addcdiv_(target, average, denominator, -this.lr / (1 - beta1 ** this.steps));
  }

  override dispose(): void {
    for (const tensor of [...this.averages, ...this.squares]) tensor.dispose();
  }
}

/** Adam with Loshchilov and Hutter's decoupled weight decay: p ← (1 − lr·decay)·p before the step. */
export class AdamW extends Adam {
  constructor(parameters: Iterable<Tensor>, options: AdamOptions = {}) {
    super(parameters, { ...options, weightDecay: options.weightDecay ?? 0.01 });
  }

  protected override decayed(target: Tensor, grad: Tensor): Tensor {
    if (this.weightDecay > 0) mul_(target, 1 - this.lr * this.weightDecay);
    return grad;
  }
}
