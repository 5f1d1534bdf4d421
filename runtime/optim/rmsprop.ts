import { add_, addcdiv_, addcmul_, mul_ } from '../ops/in-place.ts';
import { mul, sqrt, sub } from '../ops/pointwise.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { fraction, nonNegative, Optimizer, type Parameters, type Update } from './optimizer.ts';
import { penalized } from './penalty.ts';

export interface RMSpropOptions {
  /** 0.01 when left out. */
  readonly lr?: number;
  /** Decay rate of the average of squares; 0.99 when left out. */
  readonly alpha?: number;
  readonly eps?: number;
  readonly momentum?: number;
  /** L2 penalty, added to the gradient. */
  readonly weightDecay?: number;
  /** Divides by the variance: the square of the average gradient is taken off. */
  readonly centered?: boolean;
}

/** Hinton's RMSprop: gradients divided by a moving root of their mean square. */
export class RMSprop extends Optimizer {
  readonly alpha: number;
  readonly eps: number;
  readonly momentum: number;
  readonly squares: readonly Tensor[];
  /** Empty unless centered. */
  readonly averages: readonly Tensor[];
  /** Empty without momentum. */
  readonly velocities: readonly Tensor[];

  constructor(parameters: Parameters, options: RMSpropOptions = {}) {
    super(parameters, options.lr ?? 0.01, options.weightDecay);
    this.alpha = fraction('alpha', options.alpha ?? 0.99);
    this.eps = nonNegative('eps', options.eps ?? 1e-8);
    this.momentum = nonNegative('momentum', options.momentum ?? 0);
    this.squares = this.newState('squares');
    this.averages = options.centered ? this.newState('averages') : [];
    this.velocities = this.momentum > 0 ? this.newState('velocities') : [];
  }

  protected override update({ target, grad, group, index }: Update): void {
    const slope = penalized(grad, target, group);
    const square = this.squares[index]!;
    mul_(square, this.alpha);
    addcmul_(square, slope, slope, 1 - this.alpha);
    const denominator = sqrt(this.#variance(square, slope, index));
    add_(denominator, this.eps);
    const velocity = this.velocities[index];
    if (!velocity) {
      addcdiv_(target, slope, denominator, -group.lr);
      return;
    }
    mul_(velocity, this.momentum);
    addcdiv_(velocity, slope, denominator);
    add_(target, velocity, -group.lr);
  }

  #variance(square: Tensor, slope: Tensor, index: number): Tensor {
    const average = this.averages[index];
    if (!average) return square;
    mul_(average, this.alpha);
    add_(average, slope, 1 - this.alpha);
    return sub(square, mul(average, average));
  }
}
