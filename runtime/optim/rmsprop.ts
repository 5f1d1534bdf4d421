import { add_, addcdiv_, addcmul_, mul_ } from '../ops/in-place/in-place.ts';
import { mul, sqrt, sub } from '../ops/pointwise/pointwise.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { anyNumber, flag } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { type MomentumGroup, MomentumOptimizer } from './momentum.ts';
import {
  fraction,
  nonNegative,
  type ParameterGroup,
  type Parameters,
  type Rates,
  type Update,
} from './optimizer.ts';
import { rateKinds, ratesOf } from './optimizer-options.ts';
import { penalized } from './penalty.ts';

interface RMSpropGroup extends MomentumGroup {
  alpha: number;
  eps: number;
}

export interface RMSpropOptions extends Partial<Rates> {
  /** The decay rate of the average of squares; 0.99 by default. */
  readonly alpha?: number;
  /** 1e-8 by default. */
  readonly eps?: number;
  /** 0 by default: no velocity is kept until a group has a momentum. */
  readonly momentum?: number;
  /** Divides by the variance: the squared average gradient is subtracted. */
  readonly centered?: boolean;
}

const rmspropKinds: OptionKinds<RMSpropOptions> = {
  ...rateKinds,
  alpha: anyNumber,
  eps: anyNumber,
  momentum: anyNumber,
  centered: flag,
};

/** RMSprop (Hinton): divides gradients by the root of a moving average of their squares. lr 0.01 by default. */
export class RMSprop extends MomentumOptimizer<RMSpropGroup, undefined> {
  readonly squares: readonly Tensor[];
  /** Empty unless centered. */
  readonly averages: readonly Tensor[];

  constructor(parameters: Parameters<RMSpropGroup>, options: RMSpropOptions = {}, ...surplus: []) {
    expectOptions('RMSprop', options, rmspropKinds);
    super(
      parameters,
      {
        ...ratesOf(options, 0.01),
        alpha: options.alpha ?? 0.99,
        eps: options.eps ?? 1e-8,
        momentum: options.momentum ?? 0,
      },
      ...surplus,
    );
    this.squares = this.newState('squares');
    this.averages = options.centered ? this.newState('averages') : [];
  }

  protected override check(group: ParameterGroup<RMSpropGroup>): void {
    super.check(group);
    fraction('alpha', group.alpha);
    nonNegative('eps', group.eps);
    nonNegative('momentum', group.momentum);
  }

  protected override factors(): undefined {}

  protected override update({ target, grad, group, index }: Update<RMSpropGroup>): void {
    const slope = penalized(grad, target, group);
    const square = this.squares[index]!;
    mul_(square, group.alpha);
    addcmul_(square, slope, slope, 1 - group.alpha);
    const denominator = sqrt(this.variance(square, slope, group.alpha, index));
    add_(denominator, group.eps);
    if (!(group.momentum > 0)) {
      addcdiv_(target, slope, denominator, -group.lr);
      return;
    }
    const velocity = this.velocities[index]!;
    mul_(velocity, group.momentum);
    addcdiv_(velocity, slope, denominator);
    add_(target, velocity, -group.lr);
  }

  protected variance(square: Tensor, slope: Tensor, alpha: number, index: number): Tensor {
    const average = this.averages[index];
    if (!average) return square;
    mul_(average, alpha);
    add_(average, slope, 1 - alpha);
    return sub(square, mul(average, average));
  }
}
