/** Variants of Adam, by PyTorch's formulas. */

import { add_, addcdiv_, copy_, mul_ } from '../ops/in-place/in-place.ts';
import { abs, add, clampMax, maximum, mul, sqrt } from '../ops/pointwise/pointwise.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { anyNumber, flag } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { type AdamGroup, checkMoments, follow, type MomentGroup } from './adam.ts';
import { noteChanging } from './changing-rates.ts';
import {
  nonNegative,
  Optimizer,
  type ParameterGroup,
  type ParameterGroupOptions,
  type Parameters,
  type Rates,
  type Update,
} from './optimizer.ts';
import { decayingMomentsOf, momentKinds, momentsOf } from './optimizer-options.ts';
import type { OptimizerState } from './optimizer-state.ts';
import { decayed, penalized } from './penalty.ts';

export type AdamaxOptions = Partial<Rates & Readonly<MomentGroup>>;

export type RAdamOptions = Partial<Rates & Readonly<AdamGroup>>;

const radamKinds: OptionKinds<RAdamOptions> = { ...momentKinds, decoupledWeightDecay: flag };

const nadamKinds: OptionKinds<NAdamOptions> = { ...radamKinds, momentumDecay: anyNumber };

/** Adam that divides by a decaying maximum of the gradients instead of the root of squares. lr 0.002 by default. */
export class Adamax extends Optimizer<MomentGroup, number> {
  readonly averages: readonly Tensor[];
  readonly largest: readonly Tensor[];

  constructor(parameters: Parameters<MomentGroup>, options: AdamaxOptions = {}, ...surplus: []) {
    expectOptions('Adamax', options, momentKinds);
    super(parameters, momentsOf(options, 2e-3), ...surplus);
    this.averages = this.newState('averages');
    this.largest = this.newState('largest');
  }

  protected override check(group: ParameterGroup<MomentGroup>): void {
    super.check(group);
    checkMoments(group);
  }

  protected override factors(group: ParameterGroup<MomentGroup>, count: number): number {
    return -group.lr / (1 - group.betas[0] ** count);
  }

  protected override update({ target, grad, group, index }: Update<MomentGroup>, rate: number) {
    const slope = penalized(grad, target, group);
    const [average, largest] = [this.averages[index]!, this.largest[index]!];
    const [beta1, beta2] = group.betas;
    mul_(average, beta1);
    add_(average, slope, 1 - beta1);
    copy_(largest, maximum(mul(largest, beta2), add(abs(slope), group.eps)));
    addcdiv_(target, average, largest, rate);
  }
}

interface NAdamGroup extends AdamGroup {
  momentumDecay: number;
  /** The product of the momenta of all steps so far. */
  product: number;
}

interface NesterovRates {
  readonly gradient: number;
  readonly average: number;
  readonly scale: number;
}

export interface NAdamOptions extends RAdamOptions {
  /** How quickly the momentum approaches beta1; 0.004 by default. */
  readonly momentumDecay?: number;
}

/** Adam with Nesterov momentum (Dozat). lr 0.002 by default. */
export class NAdam extends Optimizer<NAdamGroup, NesterovRates> {
  readonly averages: readonly Tensor[];
  readonly squares: readonly Tensor[];
  /**
   * For each parameter that has missed steps, the product of the momenta of the steps it took. All elements exist from
   * the start: if a program decides which parameters miss a step, an element can't be a hole on one path only.
   */
  protected readonly products: number[] = this.missed.map(() => 1);

  constructor(parameters: Parameters<NAdamGroup>, options: NAdamOptions = {}, ...surplus: []) {
    expectOptions('NAdam', options, nadamKinds);
    super(
      parameters,
      {
        ...decayingMomentsOf(options, 2e-3),
        momentumDecay: options.momentumDecay ?? 4e-3,
        product: 1,
      },
      ...surplus,
    );
    this.averages = this.newState('averages');
    this.squares = this.newState('squares');
  }

  override addParamGroup(group: ParameterGroupOptions<NAdamGroup>): void {
    super.addParamGroup(group);
    while (this.products.length < this.missed.length) this.products.push(1);
  }

  protected override check(group: ParameterGroup<NAdamGroup>): void {
    super.check(group);
    checkMoments(group);
    nonNegative('momentumDecay', group.momentumDecay);
    noteChanging(group, 'product');
  }

  protected override updateAll(): void {
    for (const group of this.groups) group.product *= momentumAt(group, this.stepsTaken + 1);
    super.updateAll();
  }

  /**
   * Tracks a separate product for each parameter that misses steps; the others share one number, updated once per step.
   */
  protected override stepOne(
    target: Tensor,
    group: ParameterGroup<NAdamGroup>,
    index: number,
    factors: NesterovRates,
  ): void {
    const missed = this.missed[index]!;
    if (!target.grad) {
      if (missed === 0) this.products[index] = group.product / momentumAt(group, this.stepsTaken);
    } else if (missed > 0) {
      const momentum = momentumAt(group, this.stepsTaken - missed);
      this.products[index] = this.products[index]! * momentum;
    }
    super.stepOne(target, group, index, factors);
  }

  override loadStateDict(state: OptimizerState): void {
    super.loadStateDict(state);
    let index = 0;
    for (const group of this.groups) {
      for (const _ of group.parameters) {
        this.products[index] = productUntil(group, this.counts[index]!);
        index++;
      }
    }
  }

  protected override factors(
    group: ParameterGroup<NAdamGroup>,
    count: number,
    late?: number,
  ): NesterovRates {
    const product = late === undefined ? group.product : this.products[late]!;
    const next = momentumAt(group, count + 1);
    return {
      gradient: (-group.lr * (1 - momentumAt(group, count))) / (1 - product),
      average: (-group.lr * next) / (1 - product * next),
      scale: 1 / Math.sqrt(1 - group.betas[1] ** count),
    };
  }

  protected override update(
    { target, grad, group, index }: Update<NAdamGroup>,
    rates: NesterovRates,
  ): void {
    const slope = decayed(grad, target, group);
    const [average, square] = [this.averages[index]!, this.squares[index]!];
    follow(average, square, slope, group.betas);
    const denominator = sqrt(square);
    mul_(denominator, rates.scale);
    add_(denominator, group.eps);
    addcdiv_(target, slope, denominator, rates.gradient);
    addcdiv_(target, average, denominator, rates.average);
  }
}

function productUntil(group: NAdamGroup, count: number): number {
  let product = 1;
  for (let step = 1; step <= count; step++) product *= momentumAt(group, step);
  return product;
}

function momentumAt({ betas, momentumDecay }: NAdamGroup, step: number): number {
  return betas[0] * (1 - 0.5 * 0.96 ** (step * momentumDecay));
}

interface Rectified {
  readonly rate: number;
  readonly eps: number;
  /** The largest root of an average square that divides: ∞ once the variance of the rate can be estimated, 0 before. */
  readonly largest: number;
}

/** Rectified Adam (Liu et al.): adapts rates only once their variance can be estimated. lr 0.001 by default. */
export class RAdam extends Optimizer<AdamGroup, Rectified> {
  readonly averages: readonly Tensor[];
  readonly squares: readonly Tensor[];

  constructor(parameters: Parameters<AdamGroup>, options: RAdamOptions = {}, ...surplus: []) {
    expectOptions('RAdam', options, radamKinds);
    super(parameters, decayingMomentsOf(options, 1e-3), ...surplus);
    this.averages = this.newState('averages');
    this.squares = this.newState('squares');
  }

  protected override check(group: ParameterGroup<AdamGroup>): void {
    super.check(group);
    checkMoments(group);
  }

  protected override factors(group: ParameterGroup<AdamGroup>, count: number): Rectified {
    const [beta1, beta2] = group.betas;
    const rate = -group.lr / (1 - beta1 ** count);
    const correction = 1 - beta2 ** count;
    const most = 2 / (1 - beta2) - 1;
    const length = most - (2 * count * beta2 ** count) / correction;
    // Without a branch, so that one program serves all steps.
    const adapts = Math.max(0, Math.sign(length - 5));
    const [known, end] = [Math.max(length, 5), Math.max(most, 5)];
    const rectified = ((known - 4) * (known - 2) * end) / ((end - 4) * (end - 2) * known);
    const scale = Math.sqrt(rectified) * Math.sqrt(correction);
    return {
      rate: rate * (adapts * scale + (1 - adapts)),
      eps: adapts * group.eps + (1 - adapts),
      largest: adapts / (1 - adapts),
    };
  }

  protected override update(
    { target, grad, group, index }: Update<AdamGroup>,
    { rate, eps, largest }: Rectified,
  ): void {
    const slope = decayed(grad, target, group);
    const [average, square] = [this.averages[index]!, this.squares[index]!];
    follow(average, square, slope, group.betas);
    const denominator = clampMax(sqrt(square), largest);
    add_(denominator, eps);
    addcdiv_(target, average, denominator, rate);
  }
}
