import { deviceGuard } from '../device/current.ts';
import { formatSpec } from '../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { pad } from '../ops/arranging/padding.ts';
import { expand } from '../ops/core/broadcast.ts';
import { tensor } from '../ops/core/create.ts';
import { gather } from '../ops/indexing/gather.ts';
import { cat, stack } from '../ops/movement/joining.ts';
import { narrow, reshape, select, unsqueeze } from '../ops/movement/movement.ts';
import { fullLike } from '../ops/movement/ranges.ts';
import {
  add,
  clampMin,
  div,
  gt,
  logicalAnd,
  mul,
  ne,
  neg,
  sub,
  where,
} from '../ops/pointwise/pointwise.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import { mean, sum } from '../ops/reduce/reduce.ts';
import type { Reduction } from '../ops/reduce/reduction-options.ts';
import { logsumexp } from '../ops/reduce/statistics.ts';
import { expectArguments, expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { arrayOf, count, flag, oneOf } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { calledAs } from './called-as.ts';

/** One length per sequence of the batch. */
export type Lengths = Tensor | readonly number[];

export interface CtcLossOptions {
  /** The class of the blank label; 0 by default. */
  readonly blank?: number;
  /** `mean` by default, after dividing each loss by its number of labels. */
  readonly reduction?: Reduction;
  /** Whether labels too long for their input have loss 0 and no gradient, instead of Infinity. */
  readonly zeroInfinity?: boolean;
}

export const ctcKinds: OptionKinds<CtcLossOptions> = {
  blank: count(0),
  reduction: oneOf('mean', 'sum', 'none'),
  zeroInfinity: flag,
};

/** The log-probability of impossible alignments: finite, so that no gradient is NaN. */
const impossible = -1e30;

const lengthKinds = { lengths: arrayOf(count(0)) };

const notOnePerSequence = (name: string, given: number, batch: number): ShapeError =>
  new ShapeError({
    what: `ctcLoss: ${name} don't fit the batch`,
    given: `${given} lengths for ${batch} sequences`,
    expected: 'a length for each sequence',
    remedy: 'check the second dimension of logProbs, which counts the sequences',
  });

/** Returns the lengths as a tensor [n], one per sequence. */
function lengthsOf(name: string, lengths: Lengths, like: Tensor): Tensor {
  const batch = like.shape[1]!;
  if (!Array.isArray(lengths)) return reshape(lengths as Tensor, [batch]);
  expectArguments('ctcLoss', { lengths }, lengthKinds);
  if (lengths.length !== batch) throw notOnePerSequence(name, lengths.length, batch);
  return deviceGuard(like.device, () => tensor(lengths as number[], { dtype: 'int32' }));
}

/** Returns the labels as [n, s]. For concatenated labels the lengths must be JavaScript numbers. */
function batched(targets: Tensor, lengths: Lengths): Tensor {
  if (targets.rank === 2) return targets;
  if (!Array.isArray(lengths)) {
    throw new ArgumentError({
      what: 'ctcLoss: labels in one list, with lengths in a tensor',
      given: `targets ${formatSpec(targets)}`,
      expected: 'targets [n, s], or their lengths as an array of numbers',
      remedy: 'pad the labels: nn.utils.padSequence(labels, { batchFirst: true })',
    });
  }
  const sizes = lengths as readonly number[];
  const longest = Math.max(0, ...sizes);
  let start = 0;
  return stack(
    sizes.map((size) => {
      const labels = narrow(targets, 0, start, size);
      start += size;
      return pad(labels, [0, longest - size]);
    }),
  );
}

/**
 * Connectionist temporal classification (Graves et al.): the negative log-probability of the labels over all
 * alignments with the input. `logProbs` is [t, n, classes] or [t, classes]; `targets` is int32 [n, s], padded, or
 * all labels concatenated.
 */
export function ctcLoss(
  logProbs: Tensor,
  targets: Tensor,
  inputLengths: Lengths,
  targetLengths: Lengths,
  options: CtcLossOptions = {},
): Tensor {
  expectTensors('ctcLoss', logProbs, targets);
  expectOptions('ctcLoss', options, ctcKinds);
  const { blank = 0, reduction = 'mean', zeroInfinity = false } = options;
  if (logProbs.rank === 2) {
    const [input, labels] = [unsqueeze(logProbs, 1), reshape(targets, [1, -1])];
    const loss = ctcLoss(input, labels, inputLengths, targetLengths, options);
    return reduction === 'none' ? reshape(loss, []) : loss;
  }
  if (logProbs.rank !== 3) {
    throw new ShapeError({
      what: 'ctcLoss: not log-probabilities of a sequence',
      given: formatSpec(logProbs),
      expected: '[t, n, classes] or [t, classes]',
      remedy: 'put the time first: logProbs.transpose(0, 1)',
    });
  }
  return calledAs('ctcLoss', () => {
    const labels = batched(targets, targetLengths);
    const inputs = lengthsOf('inputLengths', inputLengths, logProbs);
    const lengths = lengthsOf('targetLengths', targetLengths, logProbs);
    const score = alignments(logProbs, labels, blank, inputs);
    // An alignment ends at the last label or at the blank after it.
    const end = unsqueeze(mul(lengths, 2), 1);
    const last = gather(score, 1, end);
    const label = gather(score, 1, clampMin(sub(end, 1), 0));
    const both = cat([last, where(gt(end, 0), label, impossible)], 1);
    const total = logsumexp(both, 1);
    const isPossible = gt(total, impossible / 2);
    const losses = where(isPossible, neg(total), zeroInfinity ? 0 : Infinity);
    if (reduction === 'none') return losses;
    if (reduction === 'sum') return sum(losses);
    return mean(div(losses, clampMin(lengths, 1)));
  });
}

/**
 * Returns, for each sequence and each position in its labels interleaved with blanks, the log-probability of all
 * alignments that end there.
 */
function alignments(logProbs: Tensor, labels: Tensor, blank: number, inputs: Tensor): Tensor {
  const [steps, n] = logProbs.shape as [number, number];
  const size = 2 * labels.shape[1]! + 1;
  const blanks = fullLike(labels, blank);
  const pairs = reshape(stack([blanks, labels], 2), [n, size - 1]);
  const places = pad(pairs, [0, 1], 'constant', blank);
  const scores = gather(logProbs, 2, expand(unsqueeze(places, 0), [steps, n, size]));
  const later = (own: Tensor, by: number) =>
    narrow(pad(own, [by, 0], 'constant', impossible), 1, 0, size);
  const before = narrow(pad(places, [2, 0], 'constant', blank), 1, 0, size);
  const maySkip = logicalAnd(ne(places, blank), ne(places, before));
  const start = pad(
    narrow(select(scores, 0, 0), 1, 0, Math.min(2, size)),
    [0, Math.max(size - 2, 0)],
    'constant',
    impossible,
  );
  let score = start;
  for (let step = 1; step < steps; step++) {
    const skipped = where(maySkip, later(score, 2), impossible);
    const next = add(
      logsumexp(stack([score, later(score, 1), skipped]), 0),
      select(scores, 0, step),
    );
    score = where(unsqueeze(gt(inputs, step), 1), next, score);
  }
  return score;
}
