import { deviceGuard } from '../device/current.ts';
import { ArgumentError } from '../errors/errors.ts';
import { embedding } from '../ops/advanced-indexing/embedding.ts';
import { indexReduce } from '../ops/advanced-indexing/scatter-reduce.ts';
import { indexAdd } from '../ops/indexing/indexing.ts';
import { narrow, unsqueeze } from '../ops/movement/movement.ts';
import { arange, fullLike } from '../ops/movement/ranges.ts';
import { clampMin, div, eq, maskedFill, mul, ne, sub, where } from '../ops/pointwise/pointwise.ts';
import { expectOptional, expectTensors } from '../ops/record/expect-tensors.ts';
import { searchsorted } from '../ops/reduce/counting.ts';
import { max } from '../ops/reduce/extremes.ts';
import { sum } from '../ops/reduce/reduce.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { expectCallOptions } from './call-options.ts';
import { calledAs } from './called-as.ts';

export interface EmbeddingBagOptions {
  /** For concatenated indices, the start of each bag: int32 [bags]. */
  readonly offsets?: Tensor | null;
  /** `mean` by default. */
  readonly mode?: 'sum' | 'mean' | 'max';
  /** Factors of the rows, shaped like the indices; only for `sum`. */
  readonly perSampleWeights?: Tensor | null;
  /** An index that bags skip; counted from the end if negative. */
  readonly paddingIdx?: number | null;
  /** Rescales looked-up rows with a larger norm to this norm, in place. */
  readonly maxNorm?: number | null;
  /** The order p of that norm; 2 by default. */
  readonly normType?: number;
  /** Divides a row's gradient by its number of uses; not for `max`. */
  readonly scaleGradByFreq?: boolean;
  /** Whether the last offset is the number of indices, not the start of a bag. */
  readonly includeLastOffset?: boolean;
}

const names = [
  'offsets',
  'mode',
  'perSampleWeights',
  'paddingIdx',
  'maxNorm',
  'normType',
  'scaleGradByFreq',
  'includeLastOffset',
] as const;

function expectBags(
  { offsets, mode = 'mean', perSampleWeights, scaleGradByFreq }: EmbeddingBagOptions,
  rank: number,
): void {
  const problem = !['sum', 'mean', 'max'].includes(mode)
    ? `mode '${mode}'`
    : rank !== (offsets ? 1 : 2)
      ? `indices with ${rank} dimension(s) ${offsets ? 'and' : 'without'} offsets`
      : perSampleWeights && mode !== 'sum'
        ? `perSampleWeights with mode '${mode}'`
        : scaleGradByFreq && mode === 'max' && "scaleGradByFreq with mode 'max'";
  if (!problem) return;
  throw new ArgumentError({
    what: "embeddingBag: arguments that don't fit",
    given: problem,
    expected:
      "mode 'sum', 'mean' or 'max'; indices [bags, n], or [n] with offsets; perSampleWeights with mode 'sum', scaleGradByFreq with 'sum' or 'mean'",
    remedy: "check the arguments, as in embeddingBag(weight, indices, { offsets, mode: 'sum' })",
  });
}

/**
 * Returns the sum, mean or maximum of the rows of `weight` [entries, size] in each bag of indices: int32 [bags,
 * n], or [n] with `offsets`, → [bags, size]. Empty bags are 0.
 */
export function embeddingBag(
  weight: Tensor,
  indices: Tensor,
  options: EmbeddingBagOptions = {},
): Tensor {
  expectTensors('embeddingBag', weight, indices);
  expectCallOptions('embeddingBag', options, names);
  const { offsets = null, perSampleWeights = null } = options;
  expectOptional('embeddingBag', offsets);
  expectOptional('embeddingBag', perSampleWeights);
  expectBags(options, indices.rank);
  return calledAs('embeddingBag', () => reduced(weight, indices, options));
}

function reduced(weight: Tensor, indices: Tensor, options: EmbeddingBagOptions): Tensor {
  const { offsets = null, mode = 'mean', perSampleWeights = null, paddingIdx = null } = options;
  const { maxNorm = null, normType = 2, scaleGradByFreq = false, includeLastOffset } = options;
  const rows = embedding(weight, indices, { paddingIdx, maxNorm, normType, scaleGradByFreq });
  const padding =
    paddingIdx !== null && paddingIdx < 0 ? paddingIdx + weight.shape[0]! : paddingIdx;
  const used = padding === null ? null : ne(indices, padding);
  const starts =
    offsets && includeLastOffset ? narrow(offsets, 0, 0, offsets.numel() - 1) : offsets;
  const bags = starts ? bagsFrom(starts, indices) : bagsInRows;
  if (mode === 'max') {
    const values = used ? where(unsqueeze(used, -1), rows, -Infinity) : rows;
    const largest = bags.largest(values);
    return maskedFill(largest, eq(largest, -Infinity), 0);
  }
  const factors = perSampleWeights ?? fullLike(rows, 1, { shape: indices.shape });
  const counted = unsqueeze(used ? where(used, factors, 0) : factors, -1);
  const total = bags.sum(mul(rows, counted));
  return mode === 'sum' ? total : div(total, clampMin(bags.sum(counted), 1));
}

interface Bags {
  sum(values: Tensor): Tensor;
  /** −Infinity for an empty bag. */
  largest(values: Tensor): Tensor;
}

const bagsInRows: Bags = {
  sum: (values) => sum(values, 1),
  largest: (values) => max(values, 1)[0],
};

function bagsFrom(offsets: Tensor, indices: Tensor): Bags {
  const places = deviceGuard(offsets.device, () => arange(0, indices.numel()));
  const bag = sub(searchsorted(offsets, places, { right: true }), 1);
  const filled = (values: Tensor, value: number) =>
    fullLike(values, value, { shape: [offsets.numel(), values.shape[1]!] });
  return {
    sum: (values) => indexAdd(filled(values, 0), 0, bag, values),
    largest: (values) => indexReduce(filled(values, -Infinity), 0, bag, values, 'amax'),
  };
}
