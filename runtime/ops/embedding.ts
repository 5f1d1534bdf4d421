/** Rows of a table by index, and their opposite. */

import { noGrad } from '../autograd/grad-mode.ts';
import { deviceGuard } from '../device/current.ts';
import { ArgumentError } from '../errors/errors.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { zeros } from './create.ts';
import { scatter } from './gather.ts';
import { expectIndices, mismatch } from './index-operands.ts';
import { indexed } from './indexing.ts';
import { reshape, unsqueeze } from './movement.ts';
import { eq, where } from './pointwise.ts';

export interface EmbeddingOptions {
  /** The row of this index gets no gradient; a negative one counts from the last. */
  readonly paddingIdx?: number | null;
}

/** Rows of `weight` [n, size] for every index: the gradient adds up what each row is used for. */
export function embedding(
  weight: Tensor,
  indices: Tensor,
  { paddingIdx = null }: EmbeddingOptions = {},
): Tensor {
  expectIndices('embedding', indices);
  if (weight.rank !== 2) throw mismatch('embedding', [weight], 'a matrix [entries, size]');
  const rows = () =>
    indexed(weight, reshape(indices, [1, ...indices.shape]), { dim: 0, wraps: false });
  if (paddingIdx === null) return tidy(rows);
  const [count] = weight.shape as [number];
  const padding = paddingIdx < 0 ? paddingIdx + count : paddingIdx;
  if (!Number.isInteger(padding) || padding < 0 || padding >= count) {
    throw new ArgumentError({
      what: 'embedding: no such row for padding',
      given: `paddingIdx ${paddingIdx} of ${count} rows`,
      expected: `an integer from ${-count} to ${count - 1}`,
      remedy: 'leave it out when no row is for padding',
    });
  }
  return tidy(() => where(unsqueeze(eq(indices, padding), -1), noGrad(rows), rows()));
}

/** int32 [..., classes]: 1 at each index, 0 elsewhere. */
export function oneHot(indices: Tensor, classes: number): Tensor {
  expectIndices('oneHot', indices);
  return tidy(() => {
    const shape = [...indices.shape, classes];
    const none = deviceGuard(indices.device, () => zeros(shape, { dtype: 'int32' }));
    return scatter(none, -1, unsqueeze(indices, -1), 1);
  });
}
