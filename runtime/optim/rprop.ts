import { add_, copy_, mul_ } from '../ops/in-place/in-place.ts';
import { clamp_ } from '../ops/in-place/pointwise-in-place.ts';
import { clamp, lt, maskedFill, mul, sign, sub } from '../ops/pointwise/pointwise.ts';
import { expectOptions, type OptionKinds, unknownOption } from '../options/expect-options.ts';
import { anyNumber, arrayOf, positive } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import {
  Optimizer,
  type ParameterGroup,
  type Parameters,
  type Rates,
  type Update,
} from './optimizer.ts';
import { rateKinds, ratesOf, signRateKinds } from './optimizer-options.ts';
import { penalized } from './penalty.ts';

interface RpropGroup {
  etas: readonly [number, number];
  stepSizes: readonly [number, number];
}

export interface RpropOptions extends Partial<Omit<Rates, 'weightDecay'>> {
  /** Factors of the step size if the gradient changes its sign and if it keeps it; [0.5, 1.2] by default. */
  readonly etas?: readonly [number, number];
  /** The smallest and largest step size; [1e-6, 50] by default. */
  readonly stepSizes?: readonly [number, number];
}

const rpropKinds: OptionKinds<RpropOptions> = {
  ...signRateKinds,
  etas: arrayOf(positive, 2),
  stepSizes: arrayOf(positive, 2),
};

/** Resilient backpropagation (Riedmiller and Braun): uses only gradients' signs. Step sizes start at lr, 0.01. */
export class Rprop extends Optimizer<RpropGroup, undefined> {
  /** The gradients of the previous step, and the step sizes. */
  readonly before: readonly Tensor[];
  readonly sizes: readonly Tensor[];

  constructor(parameters: Parameters<RpropGroup>, options: RpropOptions = {}, ...surplus: []) {
    expectOptions('Rprop', options, rpropKinds);
    super(
      parameters,
      {
        ...ratesOf(options, 0.01),
        etas: options.etas ?? [0.5, 1.2],
        stepSizes: options.stepSizes ?? [1e-6, 50],
      },
      ...surplus,
    );
    this.before = this.newState('before');
    this.sizes = this.newState('sizes', undefined, ({ lr }) => lr);
  }

  protected override check(group: ParameterGroup<RpropGroup>): void {
    super.check(group);
    // Weight decay could only change the gradient's sign.
    if (group.weightDecay !== 0)
      throw unknownOption('Rprop', 'weightDecay', Object.keys(rpropKinds));
  }

  protected override factors(): undefined {}

  protected override update({ target, grad, group, index }: Update<RpropGroup>): void {
    const [before, size] = [this.before[index]!, this.sizes[index]!];
    const [less, more] = group.etas;
    const change = sign(mul(grad, before));
    // 1 where a sign is 0, `more` where the sign stayed the same, `less` where it changed.
    const [isKept, isFlipped] = [clamp(change, 0, 1), clamp(change, -1, 0)];
    const factor = sub(mul(isKept, more - 1), mul(isFlipped, less - 1));
    add_(factor, 1);
    mul_(size, factor);
    clamp_(size, group.stepSizes[0], group.stepSizes[1]);
    const slope = maskedFill(grad, lt(change, 0), 0);
    add_(target, mul(sign(slope), size), -1);
    copy_(before, slope);
  }
}

interface ASGDGroup {
  lambd: number;
  alpha: number;
  t0: number;
}

interface AveragingRates {
  readonly rate: number;
  readonly shrink: number;
  readonly share: number;
}

export interface ASGDOptions extends Partial<Rates> {
  /** The decay of the rate; 1e-4 by default. */
  readonly lambd?: number;
  /** The exponent of that decay; 0.75 by default. */
  readonly alpha?: number;
  /** The number of steps before averaging starts; 1e6 by default. */
  readonly t0?: number;
}

const asgdKinds: OptionKinds<ASGDOptions> = {
  ...rateKinds,
  lambd: anyNumber,
  alpha: anyNumber,
  t0: anyNumber,
};

/** Averaged gradient descent (Polyak and Juditsky); `averages` are the means. lr 0.01 by default. */
export class ASGD extends Optimizer<ASGDGroup, AveragingRates> {
  readonly averages: readonly Tensor[];

  constructor(parameters: Parameters<ASGDGroup>, options: ASGDOptions = {}, ...surplus: []) {
    expectOptions('ASGD', options, asgdKinds);
    super(
      parameters,
      {
        ...ratesOf(options, 0.01),
        lambd: options.lambd ?? 1e-4,
        alpha: options.alpha ?? 0.75,
        t0: options.t0 ?? 1e6,
      },
      ...surplus,
    );
    this.averages = this.newState('averages');
  }

  protected override factors(group: ParameterGroup<ASGDGroup>, count: number): AveragingRates {
    const { lr, lambd, alpha, t0 } = group;
    const rate = lr / (1 + lambd * lr * (count - 1)) ** alpha;
    return { rate: -rate, shrink: 1 - lambd * rate, share: 1 / Math.max(1, count - 1 - t0) };
  }

  protected override update(
    { target, grad, group, index }: Update<ASGDGroup>,
    { rate, shrink, share }: AveragingRates,
  ): void {
    const slope = penalized(grad, target, group);
    mul_(target, shrink);
    add_(target, slope, rate);
    const average = this.averages[index]!;
    if (share === 1) copy_(average, target);
    else add_(average, sub(target, average), share);
  }
}
