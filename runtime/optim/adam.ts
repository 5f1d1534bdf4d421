import type { QuantizationCode } from '../numerics/quantization.ts';
import { add_, addcdiv_, addcmul_, copy_, mul_ } from '../ops/in-place/in-place.ts';
import { maximum, sqrt } from '../ops/pointwise/pointwise.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { flag } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { codeScalesOf, codesOf, StateCoding, stateBitsKind } from './eight-bit-state.ts';
import {
  fraction,
  nonNegative,
  Optimizer,
  type ParameterGroup,
  type Parameters,
  type Rates,
  type Update,
} from './optimizer.ts';
import { decayingMomentsOf, momentKinds } from './optimizer-options.ts';
import { type Decay, decayed } from './penalty.ts';

export interface MomentGroup {
  /** Decay rates of the moving averages of the gradient and its square. */
  betas: readonly [number, number];
  /** Added to the denominator. */
  eps: number;
}

/** A group whose weight decay is a penalty or decoupled. */
export interface AdamGroup extends MomentGroup, Decay {}

export interface AdamOptions extends Partial<Rates & Readonly<AdamGroup>> {
  /** Divides by the largest average of squares so far (Reddi, Kale and Kumar). */
  readonly amsgrad?: boolean;
  /**
   * With 8, averages of parameters with at least 4,096 elements are stored in 8 bits, with a scale per 128
   * elements (Dettmers et al., "8-bit Optimizers via Block-wise Quantization", 2022). 32 by default.
   */
  readonly stateBits?: 8 | 32;
}

const adamWKinds: OptionKinds<Omit<AdamOptions, 'decoupledWeightDecay'>> = {
  ...momentKinds,
  amsgrad: flag,
  stateBits: stateBitsKind,
};

const adamKinds: OptionKinds<AdamOptions> = { ...adamWKinds, decoupledWeightDecay: flag };

/** Bias correction for averages that start from zero. */
export interface Correction {
  /** The factor of the direction: −lr / (1 − β₁ᵗ). */
  readonly rate: number;
  /** The factor of the root of the squares: 1 / √(1 − β₂ᵗ). */
  readonly scale: number;
}

/** Validates the options of optimizers with two moving averages. */
export function checkMoments({ betas, eps }: MomentGroup): void {
  fraction('beta1', betas[0]);
  fraction('beta2', betas[1]);
  nonNegative('eps', eps);
}

/** Updates both moving averages with a gradient. */
export function follow(
  average: Tensor,
  square: Tensor,
  slope: Tensor,
  [beta1, beta2]: readonly [number, number],
): void {
  mul_(average, beta1);
  add_(average, slope, 1 - beta1);
  mul_(square, beta2);
  addcmul_(square, slope, slope, 1 - beta2);
}

/** Adam (Kingma and Ba), by PyTorch's formulas. Defaults: lr 0.001, betas [0.9, 0.999], eps 1e-8, no weight decay. */
export class Adam extends Optimizer<AdamGroup, Correction> {
  /** Moving averages of the gradient and its square, one pair per parameter; codes for 8-bit state. */
  readonly averages: readonly Tensor[];
  readonly squares: readonly Tensor[];
  /** The largest averages of squares so far; empty without amsgrad. */
  readonly largest: readonly Tensor[];
  private readonly averageCoding: StateCoding;
  private readonly squareCoding: StateCoding;
  private readonly largestCoding: StateCoding;

  constructor(parameters: Parameters<AdamGroup>, options: AdamOptions = {}, ...surplus: []) {
    expectOptions('Adam', options, adamKinds);
    super(parameters, decayingMomentsOf(options, 1e-3), ...surplus);
    const bits = options.stateBits ?? 32;
    const state = (name: string) => this.newState(name, bits === 8 ? codesOf : undefined);
    const coding = (name: string, code: QuantizationCode) =>
      new StateCoding(bits === 8 ? this.newState(`${name}Scales`, codeScalesOf) : [], code);
    // Programs refer to state by these field names.
    this.averages = state('averages');
    this.averageCoding = coding('averages', 'signed');
    this.squares = state('squares');
    this.squareCoding = coding('squares', 'unsigned');
    this.largest = options.amsgrad ? state('largest') : [];
    this.largestCoding = options.amsgrad
      ? coding('largest', 'unsigned')
      : new StateCoding([], 'unsigned');
  }

  protected override check(group: ParameterGroup<AdamGroup>): void {
    super.check(group);
    checkMoments(group);
  }

  protected override factors(group: ParameterGroup<AdamGroup>, count: number): Correction {
    const [beta1, beta2] = group.betas;
    return { rate: -group.lr / (1 - beta1 ** count), scale: 1 / Math.sqrt(1 - beta2 ** count) };
  }

  protected override update(update: Update<AdamGroup>, { rate, scale }: Correction): void {
    const { target, group, index } = update;
    const slope = decayed(update.grad, target, group);
    const [averages, squares] = [this.averages[index]!, this.squares[index]!];
    const average = this.averageCoding.load(averages, index);
    const square = this.squareCoding.load(squares, index);
    follow(average, square, slope, group.betas);
    const denominator = sqrt(this.spread(square, index));
    mul_(denominator, scale);
    add_(denominator, group.eps);
    addcdiv_(target, average, denominator, rate);
    this.averageCoding.store(averages, index, average);
    this.squareCoding.store(squares, index, square);
  }

  protected spread(square: Tensor, index: number): Tensor {
    if (this.largest.length === 0) return square;
    const maxima = this.largest[index]!;
    const largest = this.largestCoding.load(maxima, index);
    copy_(largest, maximum(largest, square));
    this.largestCoding.store(maxima, index, largest);
    return largest;
  }
}

/** Adam with decoupled weight decay (Loshchilov and Hutter), 0.01 by default: p ← (1 − lr·decay)·p before the step. */
export class AdamW extends Adam {
  constructor(
    parameters: Parameters<AdamGroup>,
    options: Omit<AdamOptions, 'decoupledWeightDecay'> = {},
    ...surplus: []
  ) {
    expectOptions('AdamW', options, adamWKinds);
    const weightDecay = options.weightDecay ?? 0.01;
    super(parameters, { ...options, weightDecay, decoupledWeightDecay: true }, ...surplus);
  }
}
