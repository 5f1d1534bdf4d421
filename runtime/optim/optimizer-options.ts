/** Option kinds shared by optimizers. */

import { type OptionKinds, wrongValue } from '../options/expect-options.ts';
import { anyNumber, arrayOf, flag } from '../options/option-kinds.ts';
import type { AdamGroup, MomentGroup } from './adam.ts';
import type { Rates } from './optimizer.ts';

// Ranges are checked per group, because groups may have their own rates, which schedules assign.

export const rateKinds: OptionKinds<Rates> = {
  lr: anyNumber,
  weightDecay: anyNumber,
  maximize: flag,
};

/** For optimizers that use only the gradient's sign, and so have no penalty. */
export const signRateKinds: OptionKinds<Omit<Rates, 'weightDecay'>> = {
  lr: anyNumber,
  maximize: flag,
};

export const momentKinds: OptionKinds<Rates & MomentGroup> = {
  ...rateKinds,
  betas: arrayOf(anyNumber, 2),
  eps: anyNumber,
};

/** Returns the rates in an optimizer's options; `lr` is its default learning rate. */
export function ratesOf(options: Partial<Readonly<Rates>>, lr: number): Rates {
  return {
    lr: options.lr ?? lr,
    weightDecay: options.weightDecay ?? 0,
    maximize: options.maximize ?? false,
  };
}

export function momentsOf(
  options: Partial<Rates & Readonly<MomentGroup>>,
  lr: number,
): Rates & MomentGroup {
  return {
    ...ratesOf(options, lr),
    betas: options.betas ?? [0.9, 0.999],
    eps: options.eps ?? 1e-8,
  };
}

/** `momentsOf` for optimizers with a choice of weight decay, by default a penalty. */
export function decayingMomentsOf(
  options: Partial<Rates & Readonly<AdamGroup>>,
  lr: number,
): Rates & AdamGroup {
  return { ...momentsOf(options, lr), decoupledWeightDecay: options.decoupledWeightDecay ?? false };
}

/** Throws ArgumentError for a rate that was assigned as something other than a number. */
export function expectRates({ lr, weightDecay }: Rates): void {
  if (typeof lr !== 'number') throw notANumber('lr', lr);
  if (typeof weightDecay !== 'number') throw notANumber('weightDecay', weightDecay);
}

const notANumber = (name: string, value: unknown) =>
  wrongValue('optimizer', `${name} of a parameter group`, value, 'a number');
