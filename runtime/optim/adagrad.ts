import { add_, addcdiv_, addcmul_, mul_ } from '../ops/in-place/in-place.ts';
import { add, div, mul, sqrt } from '../ops/pointwise/pointwise.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { anyNumber } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import {
  fraction,
  nonNegative,
  Optimizer,
  type ParameterGroup,
  type Parameters,
  type Rates,
  type Update,
} from './optimizer.ts';
import { rateKinds, ratesOf } from './optimizer-options.ts';
import { penalized } from './penalty.ts';

interface AdagradGroup {
  lrDecay: number;
  eps: number;
}

export interface AdagradOptions extends Partial<Rates> {
  /** Divides the rate by 1 + (step − 1)·lrDecay. */
  readonly lrDecay?: number;
  /** The initial value of the sums of squares; 0 by default. */
  readonly initialAccumulatorValue?: number;
  /** 1e-10 by default. */
  readonly eps?: number;
}

const adagradKinds: OptionKinds<AdagradOptions> = {
  ...rateKinds,
  lrDecay: anyNumber,
  initialAccumulatorValue: anyNumber,
  eps: anyNumber,
};

/** Adagrad (Duchi, Hazan and Singer): divides gradients by the root of the sum of their squares. Default lr 0.01. */
export class Adagrad extends Optimizer<AdagradGroup, number> {
  readonly sums: readonly Tensor[];

  constructor(parameters: Parameters<AdagradGroup>, options: AdagradOptions = {}, ...surplus: []) {
    expectOptions('Adagrad', options, adagradKinds);
    super(
      parameters,
      {
        ...ratesOf(options, 0.01),
        lrDecay: options.lrDecay ?? 0,
        eps: options.eps ?? 1e-10,
      },
      ...surplus,
    );
    const start = nonNegative('initialAccumulatorValue', options.initialAccumulatorValue ?? 0);
    this.sums = this.newState('sums', undefined, () => start);
  }

  protected override check(group: ParameterGroup<AdagradGroup>): void {
    super.check(group);
    nonNegative('lrDecay', group.lrDecay);
    nonNegative('eps', group.eps);
  }

  protected override factors({ lr, lrDecay }: ParameterGroup<AdagradGroup>, count: number): number {
    // A step reads the count only if the rate depends on it.
    return lrDecay === 0 ? -lr : -lr / (1 + (count - 1) * lrDecay);
  }

  protected override update({ target, grad, group, index }: Update<AdagradGroup>, rate: number) {
    const slope = penalized(grad, target, group);
    const sum = this.sums[index]!;
    addcmul_(sum, slope, slope);
    const denominator = sqrt(sum);
    add_(denominator, group.eps);
    addcdiv_(target, slope, denominator, rate);
  }
}

interface AdadeltaGroup {
  rho: number;
  eps: number;
}

export interface AdadeltaOptions extends Partial<Rates> {
  /** Decay rate of both averages; 0.9 by default. */
  readonly rho?: number;
  /** 1e-6 by default. */
  readonly eps?: number;
}

const adadeltaKinds: OptionKinds<AdadeltaOptions> = {
  ...rateKinds,
  rho: anyNumber,
  eps: anyNumber,
};

/** Adadelta (Zeiler): scales steps to the units of the parameters. lr 1 by default. */
export class Adadelta extends Optimizer<AdadeltaGroup, undefined> {
  /** Moving averages of the squared gradients and of the squared steps. */
  readonly squares: readonly Tensor[];
  readonly steps: readonly Tensor[];

  constructor(
    parameters: Parameters<AdadeltaGroup>,
    options: AdadeltaOptions = {},
    ...surplus: []
  ) {
    expectOptions('Adadelta', options, adadeltaKinds);
    super(
      parameters,
      {
        ...ratesOf(options, 1),
        rho: options.rho ?? 0.9,
        eps: options.eps ?? 1e-6,
      },
      ...surplus,
    );
    this.squares = this.newState('squares');
    this.steps = this.newState('steps');
  }

  protected override check(group: ParameterGroup<AdadeltaGroup>): void {
    super.check(group);
    fraction('rho', group.rho);
    nonNegative('eps', group.eps);
  }

  protected override factors(): undefined {}

  protected override update({ target, grad, group, index }: Update<AdadeltaGroup>): void {
    const { rho, eps } = group;
    const slope = penalized(grad, target, group);
    const [square, steps] = [this.squares[index]!, this.steps[index]!];
    mul_(square, rho);
    addcmul_(square, slope, slope, 1 - rho);
    const change = mul(div(sqrt(add(steps, eps)), sqrt(add(square, eps))), slope);
    mul_(steps, rho);
    addcmul_(steps, change, change, 1 - rho);
    add_(target, change, -group.lr);
  }
}
