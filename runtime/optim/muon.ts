import { formatSpec } from '../device/tensor-meta.ts';
import { ArgumentError } from '../errors/errors.ts';
import { cast } from '../ops/core/cast.ts';
import { add_, mul_ } from '../ops/in-place/in-place.ts';
import { transpose } from '../ops/movement/movement.ts';
import { add, clampMin, div, mul, sqrt, square } from '../ops/pointwise/pointwise.ts';
import { matmul } from '../ops/products/matmul.ts';
import { sum } from '../ops/reduce/reduce.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { anyNumber, arrayOf, count, flag, oneOf, orNull } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import {
  nonNegative,
  Optimizer,
  type ParameterGroup,
  type Parameters,
  type Rates,
  type Update,
} from './optimizer.ts';
import { rateKinds, ratesOf } from './optimizer-options.ts';

const adjustments = ['original', 'match_rms_adamw', 'spectral_unclamped'] as const;

interface MuonGroup {
  momentum: number;
  nesterov: boolean;
  nsCoefficients: readonly [number, number, number];
  eps: number;
  nsSteps: number;
  adjustLrFn: (typeof adjustments)[number] | null;
}

export interface MuonOptions extends Partial<Rates> {
  /** Decay rate of the average of gradients; 0.95 by default. */
  readonly momentum?: number;
  /** Nesterov momentum, which looks one step ahead; true by default. */
  readonly nesterov?: boolean;
  /** Coefficients of x, x³ and x⁵ in the Newton-Schulz iteration. */
  readonly nsCoefficients?: readonly [number, number, number];
  /** The least norm that an update is divided by; 1e-7 by default. */
  readonly eps?: number;
  /** The number of iterations; 5 by default. */
  readonly nsSteps?: number;
  /** How the rate follows the shape [a, b]: by √max(1, a/b), 0.2·√max(a, b) or √(a/b). `original` by default. */
  readonly adjustLrFn?: (typeof adjustments)[number] | null;
}

const muonKinds: OptionKinds<MuonOptions> = {
  ...rateKinds,
  momentum: anyNumber,
  nesterov: flag,
  nsCoefficients: arrayOf(anyNumber, 3),
  eps: anyNumber,
  nsSteps: count(1),
  adjustLrFn: orNull(oneOf(...adjustments)),
};

/**
 * Muon (Jordan and others, 2024): momentum whose updates are made nearly orthogonal, for weights that are matrices. Other
 * parameters need another optimizer. The iteration runs in the dtype of the weights, in PyTorch in bfloat16.
 */
export class Muon extends Optimizer<MuonGroup, undefined> {
  /** Averages of the gradients. */
  readonly averages: readonly Tensor[];

  constructor(parameters: Parameters<MuonGroup>, options: MuonOptions = {}, ...surplus: []) {
    expectOptions('Muon', options, muonKinds);
    super(
      parameters,
      {
        ...ratesOf({ ...options, weightDecay: options.weightDecay ?? 0.1 }, 1e-3),
        momentum: options.momentum ?? 0.95,
        nesterov: options.nesterov ?? true,
        nsCoefficients: options.nsCoefficients ?? [3.4445, -4.775, 2.0315],
        eps: options.eps ?? 1e-7,
        nsSteps: options.nsSteps ?? 5,
        adjustLrFn: options.adjustLrFn ?? null,
      },
      ...surplus,
    );
    this.averages = this.newState('averages');
  }

  protected override check(group: ParameterGroup<MuonGroup>): void {
    super.check(group);
    nonNegative('momentum', group.momentum);
    nonNegative('eps', group.eps);
    const other = group.parameters.find(({ rank }) => rank !== 2);
    if (!other) return;
    throw new ArgumentError({
      what: 'Muon: a parameter that is not a matrix',
      given: formatSpec(other),
      expected: 'weights [a, b]',
      remedy: 'give other parameters, and embeddings, to another optimizer such as AdamW',
    });
  }

  protected override factors(): undefined {}

  protected override update({ target, grad, group, index }: Update<MuonGroup>): void {
    const { lr, weightDecay, momentum } = group;
    const average = this.averages[index]!;
    mul_(average, momentum);
    add_(average, grad, 1 - momentum);
    const direction = group.nesterov
      ? add(mul(grad, 1 - momentum), mul(average, momentum))
      : average;
    const step = cast(orthogonalized(direction, group), target.dtype);
    mul_(target, 1 - lr * weightDecay);
    add_(target, step, -lr * scaleFor(target, group));
  }
}

/** Returns a matrix with the singular vectors of the update and singular values around 1. */
function orthogonalized(update: Tensor, { nsCoefficients, eps, nsSteps }: MuonGroup): Tensor {
  const [a, b, c] = nsCoefficients;
  const [rows, columns] = update.shape as [number, number];
  const isHalf = update.dtype === 'float16' || update.dtype === 'bfloat16';
  const wide = isHalf ? cast(update, 'float32') : update;
  // The product with the transpose is the smaller one.
  const turned = rows > columns ? transpose(wide, 0, 1) : wide;
  let x = div(turned, clampMin(sqrt(sum(square(turned))), eps));
  for (let i = 0; i < nsSteps; i++) {
    const gram = matmul(x, transpose(x, 0, 1));
    const powers = add(mul(gram, b), mul(matmul(gram, gram), c));
    x = add(mul(x, a), matmul(powers, x));
  }
  return rows > columns ? transpose(x, 0, 1) : x;
}

function scaleFor({ shape }: Tensor, { adjustLrFn }: MuonGroup): number {
  const [rows, columns] = shape as [number, number];
  if (adjustLrFn === 'match_rms_adamw') return 0.2 * Math.sqrt(Math.max(rows, columns));
  const ratio = Math.sqrt(rows / columns);
  return adjustLrFn === 'spectral_unclamped' ? ratio : Math.max(1, ratio);
}
