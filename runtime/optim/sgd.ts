import { ArgumentError } from '../errors/errors.ts';
import { add_, mul_ } from '../ops/in-place/in-place.ts';
import { add, mul } from '../ops/pointwise/pointwise.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { anyNumber, flag } from '../options/option-kinds.ts';
import { type MomentumGroup, MomentumOptimizer } from './momentum.ts';
import {
  nonNegative,
  type ParameterGroup,
  type Parameters,
  type Rates,
  type Update,
} from './optimizer.ts';
import { rateKinds, ratesOf } from './optimizer-options.ts';
import { penalized } from './penalty.ts';

interface SGDGroup extends MomentumGroup {
  dampening: number;
  nesterov: boolean;
}

export interface SGDOptions extends Partial<Rates> {
  /** The learning rate. */
  readonly lr: number;
  /** 0 by default; velocities exist only once a group has a momentum. */
  readonly momentum?: number;
  /** Reduces the gradient's contribution to the velocity by this fraction, except at the first step. */
  readonly dampening?: number;
  /** Nesterov momentum: applies the momentum one step ahead. */
  readonly nesterov?: boolean;
}

const sgdKinds: OptionKinds<SGDOptions> = {
  ...rateKinds,
  momentum: anyNumber,
  dampening: anyNumber,
  nesterov: flag,
};

/** Gradient descent: v ← momentum·v + g, p ← p − lr·v; as in PyTorch, the rate is not part of v. */
export class SGD extends MomentumOptimizer<SGDGroup, number> {
  constructor(parameters: Parameters<SGDGroup>, options: SGDOptions, ...surplus: []) {
    expectOptions('SGD', options, sgdKinds);
    super(
      parameters,
      {
        ...ratesOf(options, options.lr),
        momentum: options.momentum ?? 0,
        dampening: options.dampening ?? 0,
        nesterov: options.nesterov ?? false,
      },
      ...surplus,
    );
  }

  protected override check(group: ParameterGroup<SGDGroup>): void {
    super.check(group);
    const { momentum, dampening, nesterov } = group;
    nonNegative('momentum', momentum);
    if (!nesterov || (momentum > 0 && dampening === 0)) return;
    throw new ArgumentError({
      what: 'SGD: nesterov without momentum',
      given: `nesterov = true, momentum = ${momentum}, dampening = ${dampening}`,
      expected: 'a momentum above 0, and no dampening',
      remedy: 'pass momentum: 0.9, or leave nesterov out',
    });
  }

  /** Returns the number of steps taken if dampening is used, else 0. */
  protected override factors({ dampening }: ParameterGroup<SGDGroup>, count: number): number {
    return dampening === 0 ? 0 : count;
  }

  protected override update({ target, grad, group, index }: Update<SGDGroup>, count: number) {
    const slope = penalized(grad, target, group);
    if (!(group.momentum > 0)) {
      add_(target, slope, -group.lr);
      return;
    }
    const velocity = this.velocities[index]!;
    mul_(velocity, group.momentum);
    // Arithmetic instead of a branch, so that the first step and all later ones share one captured step.
    const damped = group.dampening === 0 ? 0 : Math.min(1, this.stepsBefore(index, count));
    add_(velocity, slope, 1 - damped * group.dampening);
    const direction = group.nesterov ? add(slope, mul(velocity, group.momentum)) : velocity;
    add_(target, direction, -group.lr);
  }
}
