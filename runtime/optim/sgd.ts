import { noGrad } from '../autograd/grad-mode.ts';
import { ArgumentError } from '../errors/errors.ts';
import { add_, mul_ } from '../ops/in-place.ts';
import { add, mul } from '../ops/pointwise.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { nonNegative, Optimizer, zerosFor } from './optimizer.ts';

export interface SGDOptions {
  readonly lr: number;
  /** 0 when left out: no state is kept. */
  readonly momentum?: number;
  /** L2 penalty, added to the gradient. */
  readonly weightDecay?: number;
  /** Looks one step ahead along the momentum. */
  readonly nesterov?: boolean;
}

/** Gradient descent: v ← momentum·v + g, p ← p − lr·v, as in PyTorch (the rate is outside of v). */
export class SGD extends Optimizer {
  readonly momentum: number;
  readonly weightDecay: number;
  readonly nesterov: boolean;
  /** One per parameter; empty without momentum. */
  readonly velocities: readonly Tensor[];

  constructor(parameters: Iterable<Tensor>, options: SGDOptions) {
    super(parameters, options.lr);
    this.momentum = nonNegative('momentum', options.momentum ?? 0);
    this.weightDecay = nonNegative('weightDecay', options.weightDecay ?? 0);
    this.nesterov = options.nesterov ?? false;
    if (this.nesterov && this.momentum === 0) {
      throw new ArgumentError({
        what: 'SGD: nesterov without momentum',
        given: 'nesterov = true, momentum = 0',
        expected: 'a momentum above 0',
        remedy: 'pass momentum: 0.9, or leave nesterov out',
      });
    }
    this.velocities = this.momentum > 0 ? zerosFor(this.parameters) : [];
  }

  override step(): void {
    noGrad(() => {
      for (let i = 0; i < this.parameters.length; i++) {
        const target = this.parameters[i]!;
        const { grad } = target;
        if (grad) tidy(() => this.update(target, grad, this.velocities[i] ?? null));
      }
    });
  }

  protected update(target: Tensor, grad: Tensor, velocity: Tensor | null): void {
    const slope = this.weightDecay > 0 ? add(grad, mul(target, this.weightDecay)) : grad;
    if (!velocity) {
      add_(target, slope, -this.lr);
      return;
    }
    mul_(velocity, this.momentum);
    add_(velocity, slope);
    const direction = this.nesterov ? add(slope, mul(velocity, this.momentum)) : velocity;
    add_(target, direction, -this.lr);
  }

  override dispose(): void {
    for (const velocity of this.velocities) velocity.dispose();
  }
}
