import { ArgumentError } from '../errors/errors.ts';
import { add_, mul_ } from '../ops/in-place.ts';
import { add, mul } from '../ops/pointwise.ts';
import type { Tensor } from '../tensor/tensor.ts';
import {
  nonNegative,
  Optimizer,
  type ParameterGroup,
  type Parameters,
  type Rates,
  type Update,
} from './optimizer.ts';
import { penalized } from './penalty.ts';

interface SGDGroup {
  momentum: number;
  dampening: number;
  nesterov: boolean;
}

export interface SGDOptions extends Partial<Rates> {
  readonly lr: number;
  /** 0 when left out: no state is kept. */
  readonly momentum?: number;
  /** Takes this part of the gradient out of the momentum, but at the first step. */
  readonly dampening?: number;
  /** Looks one step ahead along the momentum. */
  readonly nesterov?: boolean;
}

/** Gradient descent: v ← momentum·v + g, p ← p − lr·v, as in PyTorch (the rate is outside of v). */
export class SGD extends Optimizer<SGDGroup, boolean> {
  /** One per parameter; empty without momentum. */
  readonly velocities: readonly Tensor[];

  constructor(parameters: Parameters<SGDGroup>, options: SGDOptions) {
    super(parameters, {
      lr: options.lr,
      weightDecay: options.weightDecay ?? 0,
      maximize: options.maximize ?? false,
      momentum: options.momentum ?? 0,
      dampening: options.dampening ?? 0,
      nesterov: options.nesterov ?? false,
    });
    const moves = this.groups.some(({ momentum }) => momentum > 0);
    this.velocities = moves ? this.newState('velocities') : [];
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

  /** Whether dampening acts. The count is asked for only where it matters. */
  protected override factors({ dampening }: ParameterGroup<SGDGroup>, count: number): boolean {
    return dampening !== 0 && count > 1;
  }

  protected override update({ target, grad, group, index }: Update<SGDGroup>, damped: boolean) {
    const slope = penalized(grad, target, group);
    const velocity = group.momentum > 0 ? this.velocities[index] : undefined;
    if (!velocity) {
      add_(target, slope, -group.lr);
      return;
    }
    mul_(velocity, group.momentum);
    add_(velocity, slope, damped ? 1 - group.dampening : 1);
    const direction = group.nesterov ? add(slope, mul(velocity, group.momentum)) : velocity;
    add_(target, direction, -group.lr);
  }
}
