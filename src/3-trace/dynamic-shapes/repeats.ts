import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { ArgumentError } from '../../../runtime/errors/errors.ts';
import { entriesOf, expectCountPerEntry } from '../../../runtime/ops/arranging/rearrange.ts';
import { expand } from '../../../runtime/ops/core/broadcast.ts';
import { cast } from '../../../runtime/ops/core/cast.ts';
import { indexAdd, indexSelect } from '../../../runtime/ops/indexing/indexing.ts';
import { ones, zeros } from '../../../runtime/ops/movement/create.ts';
import { narrow, reshape } from '../../../runtime/ops/movement/movement.ts';
import { where } from '../../../runtime/ops/pointwise/comparison.ts';
import { eq, floor, ge, logicalAnd } from '../../../runtime/ops/pointwise/pointwise.ts';
import { sum } from '../../../runtime/ops/reduce/reduce.ts';
import { cumsum } from '../../../runtime/ops/reduce/scans.ts';
import { all } from '../../../runtime/ops/reduce/statistics.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { sizeFrom } from './size-source.ts';

const int32 = { dtype: 'int32' } as const;

/** `repeatInterleave` by counts that the program computes. */
export function repeatInterleaveInOps(x: Tensor, repeats: Tensor, dim?: number): Tensor {
  const { source, at } = entriesOf(x, dim);
  expectCountPerEntry(repeats.numel(), source, at);
  const counts = expand(reshape(repeats, [repeats.numel()]), [source.shape[at]!]);
  const total = sizeFrom(() => totalOf(cast(counts, 'float64')));
  if (total < 0) {
    throw new ArgumentError({
      what: 'repeatInterleave: not numbers of repetitions',
      given: 'a negative count or a fraction',
      expected: 'integers from 0 on',
      remedy: 'pass how often to repeat each entry',
    });
  }
  return indexSelect(
    source,
    at,
    noGrad(() => repeated(cast(counts, 'int32'), total)),
  );
}

/** Returns the sum, or −1 if a count is negative or a fraction. */
function totalOf(counts: Tensor): Tensor {
  const isValid = logicalAnd(ge(counts, 0), eq(floor(counts), counts));
  return where(all(isValid), sum(counts), -1);
}

/** Returns each index as often as its count: the number of entries that end before. */
function repeated(counts: Tensor, total: number): Tensor {
  const ends = cumsum(counts, 0);
  const marks = indexAdd(zeros([total + 1], int32), 0, ends, ones(ends.shape, int32));
  return narrow(cumsum(marks, 0), 0, 0, total);
}
