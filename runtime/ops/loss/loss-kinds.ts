/** Option kinds of losses, for functions and modules. */

import type { OptionKinds } from '../../options/expect-options.ts';
import {
  anyInteger,
  anyNumber,
  flag,
  nonNegativeNumber,
  oneOf,
  orNull,
  positive,
  probability,
  that,
} from '../../options/option-kinds.ts';
import { Tensor } from '../../tensor/tensor.ts';
import { isAtMost, isBelow } from '../numbers/number-arithmetic.ts';
import { isNumber } from '../numbers/symbolic-number.ts';
import type { LossOptions } from '../reduce/reduction-options.ts';
import type { CrossEntropyOptions, NllOptions } from './class-losses.ts';
import type {
  MarginOptions,
  MultiMarginOptions,
  TripletOptions,
  WeightOptions,
} from './margin-losses.ts';
import type { BinaryOptions, KlDivOptions, LogitOptions } from './probability-losses.ts';
import type { GaussianNllOptions, PoissonNllOptions } from './regression-losses.ts';

const weight = orNull(that('a tensor', (value) => value instanceof Tensor));

export const lossKinds: OptionKinds<LossOptions> = { reduction: oneOf('mean', 'sum', 'none') };

export const nllKinds: OptionKinds<NllOptions> = { ...lossKinds, weight, ignoreIndex: anyInteger };

export const crossEntropyKinds: OptionKinds<CrossEntropyOptions> = {
  ...nllKinds,
  labelSmoothing: probability,
};

export const marginKinds: OptionKinds<MarginOptions> = { ...lossKinds, margin: anyNumber };

export const tripletKinds: OptionKinds<TripletOptions> = {
  ...marginKinds,
  p: anyNumber,
  eps: anyNumber,
  swap: flag,
};

export const multiMarginKinds: OptionKinds<MultiMarginOptions> = {
  ...marginKinds,
  p: anyNumber,
  weight,
};

export const weightKinds: OptionKinds<WeightOptions> = { ...lossKinds, weight };

export const binaryKinds: OptionKinds<BinaryOptions> = weightKinds;

export const logitKinds: OptionKinds<LogitOptions> = { ...binaryKinds, posWeight: weight };

export const klDivKinds: OptionKinds<KlDivOptions> = {
  reduction: oneOf('mean', 'sum', 'none', 'batchmean'),
  logTarget: flag,
};

export const smoothL1Kinds: OptionKinds<LossOptions & { readonly beta?: number }> = {
  ...lossKinds,
  // No op checks these two numbers, so the check itself becomes the guard.
  beta: { ...nonNegativeNumber, accepts: (value) => isNumber(value) && isAtMost(0, value) },
};

export const huberKinds: OptionKinds<LossOptions & { readonly delta?: number }> = {
  ...lossKinds,
  delta: { ...positive, accepts: (value) => isNumber(value) && isBelow(0, value) },
};

export const poissonKinds: OptionKinds<PoissonNllOptions> = {
  ...lossKinds,
  logInput: flag,
  full: flag,
  eps: anyNumber,
};

export const gaussianKinds: OptionKinds<GaussianNllOptions> = {
  ...lossKinds,
  full: flag,
  eps: anyNumber,
};
