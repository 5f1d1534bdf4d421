/** Probabilities, or their logarithms, as the parameters of discrete distributions. */

import { ArgumentError } from '../errors/errors.ts';
import { logSoftmax, softmax } from '../ops/normalization/softmax.ts';
import {
  clamp,
  div,
  log,
  log1p,
  neg,
  type Operand,
  sigmoid,
  sub,
} from '../ops/pointwise/pointwise.ts';
import { sum } from '../ops/reduce/reduce.ts';
import { expectOptions, shown } from '../options/expect-options.ts';
import { isTensor } from '../options/is-tensor.ts';
import { anyNumber, aTensor, either, probability } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { epsilonOf, expectFloating, parameter, parametersOf } from './distribution.ts';

/** Either of them; logits of binary distributions are log-odds, others unnormalized log-probabilities. */
interface Likelihoods {
  readonly probs?: Operand;
  readonly logits?: Operand;
}

/** The probabilities themselves, or either by name. */
export type LikelihoodsOf<P extends Operand> = P | { readonly probs?: P; readonly logits?: P };

export type LikelihoodName = 'probs' | 'logits';

type LikelihoodCall = readonly [name: LikelihoodName, value: Operand];

const kinds = { probs: either(parameter(probability)), logits: parameter(anyNumber) };

/** Returns which of both was given. Throws ArgumentError for none, for both, and for values of other kinds. */
function chosen(owner: string, likelihoods: LikelihoodsOf<Operand>): LikelihoodCall {
  const isValue = typeof likelihoods === 'number' || isTensor(likelihoods);
  const byName: Likelihoods = isValue
    ? { probs: likelihoods as Operand }
    : (likelihoods as Likelihoods);
  expectOptions(owner, byName, kinds);
  const { probs, logits } = byName;
  if (probs !== undefined && logits === undefined) return ['probs', probs];
  if (logits !== undefined && probs === undefined) return ['logits', logits];
  throw new ArgumentError({
    what: `${owner}: needs probs or logits`,
    given: probs === undefined ? 'neither' : 'both',
    expected: 'one of them',
    remedy: `new ${owner}({ logits }), or new ${owner}(probs)`,
  });
}

/** Returns the parameter of a distribution of 0 and 1, as given. */
export function binaryOf(
  owner: string,
  likelihoods: LikelihoodsOf<Operand>,
): readonly [name: LikelihoodName, value: Tensor] {
  const [name, value] = chosen(owner, likelihoods);
  const [parameter] = parametersOf(owner, { [name]: value }, { [name]: kinds[name] });
  return [name, parameter!];
}

/** Returns the normalized parameter of a distribution over the last dimension. */
export function classesOf(
  owner: string,
  likelihoods: LikelihoodsOf<Tensor>,
): readonly [name: LikelihoodName, value: Tensor] {
  const [name, value] = chosen(owner, likelihoods);
  if (!isTensor(value) || (value as Tensor).rank === 0) {
    throw new ArgumentError({
      what: `${owner}: ${name} of no classes`,
      given: shown(value),
      expected: `${aTensor.expected} [...batch, classes]`,
      remedy: `new ${owner}({ ${name}: tensor([0.2, 0.8]) })`,
    });
  }
  const checked = expectFloating(owner, value as Tensor);
  return [
    name,
    name === 'probs' ? div(checked, sum(checked, -1, { keepDim: true })) : logSoftmax(checked, -1),
  ];
}

/** Returns probabilities of 0 and 1 moved away from where their logarithms are infinite. */
export const inside = (probs: Tensor): Tensor => {
  const least = epsilonOf(probs);
  return clamp(probs, least, 1 - least);
};

export const probsOf = (name: LikelihoodName, value: Tensor): Tensor =>
  name === 'probs' ? value : sigmoid(value);

/** Returns the log-odds. */
export function logitsOf(name: LikelihoodName, value: Tensor): Tensor {
  if (name === 'logits') return value;
  const probs = inside(value);
  return sub(log(probs), log1p(neg(probs)));
}

export const classProbsOf = (name: LikelihoodName, value: Tensor): Tensor =>
  name === 'probs' ? value : softmax(value, -1);

export const classLogitsOf = (name: LikelihoodName, value: Tensor): Tensor =>
  name === 'logits' ? value : log(inside(value));
