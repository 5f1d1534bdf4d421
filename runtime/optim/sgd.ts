import { ArgumentError } from '../errors/errors.ts';
import { add_, mul_ } from '../ops/in-place.ts';
import { add, mul } from '../ops/pointwise.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { nonNegative, Optimizer, type Parameters, type Update } from './optimizer.ts';
import { penalized } from './penalty.ts';

export interface SGDOptions {
  readonly lr: number;
  /** 0 when left out: no state is kept. */
  readonly momentum?: number;
  /** Takes this part of the gradient out of the momentum, but at the first step. */
  readonly dampening?: number;
  /** L2 penalty, added to the gradient. */
  readonly weightDecay?: number;
  /** Looks one step ahead along the momentum. */
  readonly nesterov?: boolean;
}

/** Gradient descent: v ← momentum·v + g, p ← p − lr·v, as in PyTorch (the rate is outside of v). */
export class SGD extends Optimizer {
  readonly momentum: number;
  readonly dampening: number;
  readonly nesterov: boolean;
  /** One per parameter; empty without momentum. */
  readonly velocities: readonly Tensor[];

  constructor(parameters: Parameters, options: SGDOptions) {
    super(parameters, options.lr, options.weightDecay);
    this.momentum = nonNegative('momentum', options.momentum ?? 0);
    this.dampening = options.dampening ?? 0;
    this.nesterov = options.nesterov ?? false;
    if (this.nesterov && (this.momentum === 0 || this.dampening !== 0)) {
      throw new ArgumentError({
        what: 'SGD: nesterov without momentum',
        given: `nesterov = true, momentum = ${this.momentum}, dampening = ${this.dampening}`,
        expected: 'a momentum above 0, and no dampening',
        remedy: 'pass momentum: 0.9, or leave nesterov out',
      });
    }
    this.velocities = this.momentum > 0 ? this.newState('velocities') : [];
  }

  protected override update({ target, grad, group, index, count }: Update): void {
    const slope = penalized(grad, target, group);
    const velocity = this.velocities[index];
    if (!velocity) {
      add_(target, slope, -group.lr);
      return;
    }
    mul_(velocity, this.momentum);
    // The count is asked for only where it matters: a captured step would depend on it.
    const damped = this.dampening !== 0 && count > 1;
    add_(velocity, slope, damped ? 1 - this.dampening : 1);
    const direction = this.nesterov ? add(slope, mul(velocity, this.momentum)) : velocity;
    add_(target, direction, -group.lr);
  }
}
