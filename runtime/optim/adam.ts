import { add_, addcdiv_, addcmul_, copy_, mul_ } from '../ops/in-place.ts';
import { maximum, sqrt } from '../ops/pointwise.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { fraction, nonNegative, Optimizer, type Parameters, type Update } from './optimizer.ts';
import { penalized } from './penalty.ts';

export interface AdamOptions {
  /** 0.001 when left out. */
  readonly lr?: number;
  /** Decay rates of the two moving averages; [0.9, 0.999] when left out. */
  readonly betas?: readonly [number, number];
  readonly eps?: number;
  /** Adam: L2 penalty, 0 when left out. AdamW: decoupled decay, 0.01 when left out. */
  readonly weightDecay?: number;
  /** Divides by the largest average of squares so far (Reddi, Kale and Kumar). */
  readonly amsgrad?: boolean;
}

/** Kingma and Ba's Adam, by PyTorch's formulas. */
export class Adam extends Optimizer {
  readonly betas: readonly [number, number];
  readonly eps: number;
  /** Moving averages of the gradient and of its square, one pair per parameter. */
  readonly averages: readonly Tensor[];
  readonly squares: readonly Tensor[];
  /** The largest squares; empty without amsgrad. */
  readonly largest: readonly Tensor[];

  constructor(parameters: Parameters, options: AdamOptions = {}) {
    super(parameters, options.lr ?? 1e-3, options.weightDecay);
    const [beta1, beta2] = options.betas ?? [0.9, 0.999];
    this.betas = [fraction('beta1', beta1), fraction('beta2', beta2)];
    this.eps = nonNegative('eps', options.eps ?? 1e-8);
    this.averages = this.newState('averages');
    this.squares = this.newState('squares');
    this.largest = options.amsgrad ? this.newState('largest') : [];
  }

  protected override update(update: Update): void {
    const { target, group, index, count } = update;
    const slope = this.slope(update);
    const [average, square] = [this.averages[index]!, this.squares[index]!];
    const [beta1, beta2] = this.betas;
    mul_(average, beta1);
    add_(average, slope, 1 - beta1);
    mul_(square, beta2);
    addcmul_(square, slope, slope, 1 - beta2);
    const denominator = sqrt(this.#scale(square, index));
    mul_(denominator, 1 / Math.sqrt(1 - beta2 ** count));
    add_(denominator, this.eps);
    addcdiv_(target, average, denominator, -group.lr / (1 - beta1 ** count));
  }

  #scale(square: Tensor, index: number): Tensor {
    const largest = this.largest[index];
    return largest ? copy_(largest, maximum(largest, square)) : square;
  }

  /** The gradient to follow, with the penalty's part in it. */
  protected slope({ target, grad, group }: Update): Tensor {
    return penalized(grad, target, group);
  }
}

/** Adam with Loshchilov and Hutter's decoupled weight decay: p ← (1 − lr·decay)·p before the step. */
export class AdamW extends Adam {
  constructor(parameters: Parameters, options: AdamOptions = {}) {
    super(parameters, { ...options, weightDecay: options.weightDecay ?? 0.01 });
  }

  protected override slope({ target, grad, group }: Update): Tensor {
    if (group.weightDecay > 0) mul_(target, 1 - group.lr * group.weightDecay);
    return grad;
  }
}
