import { scatter } from '../ops/indexing/gather.ts';
import { zerosLike } from '../ops/movement/ranges.ts';
import { softmax } from '../ops/normalization/softmax.ts';
import { add, clampMin, div, log, log1p, neg, sub } from '../ops/pointwise/pointwise.ts';
import { randLike } from '../ops/random/random.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import { argmax } from '../ops/reduce/extremes.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { anyInteger, flag, positive } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { calledAs } from './called-as.ts';

export interface GumbelSoftmaxOptions {
  /** Temperature; 1 by default. */
  readonly tau?: number;
  /** Whether the result is one-hot; its gradient is that of the soft sample. */
  readonly hard?: boolean;
  /** The dimension of the classes; the last by default. */
  readonly dim?: number;
}

const kinds: OptionKinds<GumbelSoftmaxOptions> = { tau: positive, hard: flag, dim: anyInteger };

/** The smallest positive float32 number that can be drawn; a draw of 0 would make the sample infinite. */
const smallest = 2 ** -24;

/**
 * Draws a differentiable sample, shaped like `logits`, from the categorical distribution given by unnormalized
 * log-probabilities.
 */
export function gumbelSoftmax(logits: Tensor, options: GumbelSoftmaxOptions = {}): Tensor {
  expectTensors('gumbelSoftmax', logits);
  expectOptions('gumbelSoftmax', options, kinds);
  const { tau = 1, hard = false, dim = -1 } = options;
  return calledAs('gumbelSoftmax', () => {
    const exponential = neg(log1p(neg(clampMin(randLike(logits), smallest))));
    const soft = softmax(div(sub(logits, log(exponential)), tau), dim);
    if (!hard) return soft;
    const chosen = scatter(zerosLike(soft), dim, argmax(soft, dim, true), 1);
    return add(sub(chosen, soft.detach()), soft);
  });
}
