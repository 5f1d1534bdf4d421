/** Distinct elements, or slices along a dimension, and runs of equal ones. Built of ops, as programs need it. */

import { noGrad } from '../../autograd/grad-mode.ts';
import { naming } from '../../errors/naming.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { flag, judgedLater } from '../../options/option-kinds.ts';
import { dtypes } from '../../spec/dtype.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, sub } from '../arithmetic/arithmetic.ts';
import { logicalOr } from '../arithmetic/logic.ts';
import { maskedSelect } from '../indexing/data-dependent.ts';
import { scatter } from '../indexing/gather.ts';
import { indexSelect } from '../indexing/indexing.ts';
import { flatten, reshape, select, unsqueeze } from '../movement/movement.ts';
import { arange } from '../movement/ranges.ts';
import { movedim } from '../movement/views.ts';
import { eq, ne } from '../pointwise/comparison.ts';
import { countedInBins } from '../reduce/counting.ts';
import { sort } from '../reduce/order.ts';
import { cumsum } from '../reduce/scans.ts';
import { any } from '../reduce/statistics.ts';
import { roll } from './rearrange.ts';

export interface UniqueConsecutiveOptions {
  /** Also returns the index of each element's value. */
  readonly returnInverse?: boolean;
  /** Also returns the number of occurrences of each value. */
  readonly returnCounts?: boolean;
  /** Compares the slices along this dimension instead of the elements. */
  readonly dim?: number | null;
}

export interface UniqueOptions extends UniqueConsecutiveOptions {
  /** PyTorch's; values are always sorted. */
  readonly sorted?: boolean;
}

const kinds = { returnInverse: flag, returnCounts: flag, dim: judgedLater };
const uniqueKinds = { ...kinds, sorted: flag };

/**
 * `[values, inverse?, counts?]`: the distinct values, or slices, in order; the others are int32. NaN equals nothing.
 * Reads the data.
 */
export function unique(x: Tensor, options: UniqueOptions = {}): Tensor[] {
  expectOptions('unique', options, uniqueKinds);
  return distinct('unique', x, options, true);
}

/** `[values, inverse?, counts?]`: each run of equal elements, or slices, once; the others are int32. Reads the data. */
export function uniqueConsecutive(x: Tensor, options: UniqueConsecutiveOptions = {}): Tensor[] {
  expectOptions('uniqueConsecutive', options, kinds);
  return distinct('uniqueConsecutive', x, options, false);
}

function distinct(
  name: string,
  x: Tensor,
  { dim = null, returnInverse, returnCounts }: UniqueConsecutiveOptions,
  isSorted: boolean,
): Tensor[] {
  const found = (): Tensor[] => {
    const slices = dim === null ? flatten(x) : movedim(x, dim, 0);
    const rows = flatten(unsqueeze(slices, -1), 1);
    const places = arange(slices.shape[0]!, { device: x.device });
    let order = places;
    // Lexicographically, by the last element first: sorting is stable.
    for (let i = isSorted ? rows.shape[1]! - 1 : -1; i >= 0; i--) {
      order = indexSelect(order, 0, sort(indexSelect(select(rows, 1, i), 0, order))[1]);
    }
    const sorted = indexSelect(rows, 0, order);
    const differs = any(ne(sorted, roll(sorted, 1, 0)), 1);
    const starts = logicalOr(eq(places, 0), differs);
    const run = sub(cumsum(starts, 0), 1);
    const first = maskedSelect(order, starts);
    const values = indexSelect(slices, 0, first);
    return [
      // The value of both zeros is 0.
      dim === null && dtypes[x.dtype].floating ? add(values, 0) : movedim(values, 0, dim ?? 0),
      ...(returnInverse
        ? [reshape(scatter(order, 0, order, run), dim === null ? x.shape : order.shape)]
        : []),
      ...(returnCounts ? [countedInBins(run, null, first.numel())] : []),
    ];
  };
  return naming(name, () => noGrad(() => tidy(found)));
}
