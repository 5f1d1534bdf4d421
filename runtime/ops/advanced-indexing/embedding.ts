/** Table rows by index, and the inverse, one-hot encoding. */

import { noGrad } from '../../autograd/grad-mode.ts';
import { deviceGuard } from '../../device/current.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { anyOperand, flag, orNull } from '../../options/option-kinds.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, mul } from '../arithmetic/arithmetic.ts';
import { bind1 } from '../core/bind.ts';
import { inferBinary, pointwise } from '../core/promotion.ts';
import { E } from '../expr/expr.ts';
import { copy_ } from '../in-place/in-place.ts';
import { extremesOf, readNumbers } from '../indexing/data-dependent.ts';
import { scatter } from '../indexing/gather.ts';
import { expectIndices, mismatch } from '../indexing/index-operands.ts';
import { indexAdd, indexCopy, indexed, indexSelect } from '../indexing/indexing.ts';
import { zeros } from '../movement/create.ts';
import { reshape, unsqueeze } from '../movement/movement.ts';
import { fullLike } from '../movement/ranges.ts';
import { equals } from '../numbers/number-arithmetic.ts';
import { eq, gt, where } from '../pointwise/comparison.ts';
import { reciprocal } from '../pointwise/powers.ts';
import { defineOp, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { expectNumber } from '../record/positional.ts';
import { vectorNorm } from '../reduce/statistics.ts';

export interface EmbeddingOptions {
  /** The index of a row that gets no gradient; counted from the end if negative. */
  readonly paddingIdx?: number | null;
  /** Rescales looked-up rows with a larger norm to this norm, in place. */
  readonly maxNorm?: number | null;
  /** The order p of that norm; 2 by default. */
  readonly normType?: number;
  /** Divides a row's gradient by its number of uses. */
  readonly scaleGradByFreq?: boolean;
}

const embeddingOptions = {
  paddingIdx: orNull(anyOperand),
  maxNorm: orNull(anyOperand),
  normType: anyOperand,
  scaleGradByFreq: flag,
};

/** Returns the row of `weight` [n, size] for each index. A row's gradient sums over its uses. */
export function embedding(weight: Tensor, indices: Tensor, options: EmbeddingOptions = {}): Tensor {
  expectTensors('embedding', weight, indices);
  expectOptions('embedding', options, embeddingOptions);
  const { paddingIdx = null, maxNorm = null, normType = 2, scaleGradByFreq = false } = options;
  expectIndices('embedding', indices);
  if (weight.rank !== 2) throw mismatch('embedding', [weight], 'a matrix [entries, size]');
  if (maxNorm !== null) limitNorms(weight, indices, maxNorm, normType);
  const chosen = () =>
    naming('embedding', () =>
      indexed(weight, reshape(indices, [1, ...indices.shape]), { dim: 0, wraps: false }),
    );
  const rows = () => (scaleGradByFreq ? sharedGradient(chosen(), indices, weight) : chosen());
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

function limitNorms(weight: Tensor, indices: Tensor, maxNorm: number, p: number): void {
  noGrad(() =>
    tidy(() => {
      const used = reshape(indices, [indices.numel()]);
      const rows = indexSelect(weight, 0, used);
      const norms = vectorNorm(rows, p, 1, { keepDim: true });
      const scale = where(gt(norms, maxNorm), mul(reciprocal(add(norms, 1e-7)), maxNorm), 1);
      copy_(weight, indexCopy(weight, 0, used, mul(rows, scale)));
    }),
  );
}

/** The identity, whose gradient is multiplied by `factor`. */
export const scaleGradientOp = defineOp({
  name: 'scaleGradient',
  operands: { x: 'data', factor: 'data' },
  infer: inferBinary('scaleGradient'),
  kernel: pointwise(E.input(0)),
  vjp: { x: saving({ factor: 'value' }, ({ factor }, dy) => mul(dy, factor)) },
});

function sharedGradient(rows: Tensor, indices: Tensor, weight: Tensor): Tensor {
  const flat = reshape(indices, [indices.numel()]);
  const factor = noGrad(() => {
    const none = fullLike(weight, 0, { shape: [weight.shape[0]!] });
    const uses = indexAdd(none, 0, flat, fullLike(weight, 1, { shape: [indices.numel()] }));
    return unsqueeze(reciprocal(reshape(indexSelect(uses, 0, flat), indices.shape)), -1);
  });
  return bind1(scaleGradientOp, [rows, factor]);
}

/**
 * Returns int32 [..., classes]: 1 at each index, 0 elsewhere. Without `classes`, reads the indices and uses the largest
 * plus 1.
 */
export function oneHot(indices: Tensor, classes = -1): Tensor {
  expectTensors('oneHot', indices);
  expectNumber('oneHot', 'classes', classes);
  expectIndices('oneHot', indices);
  const encoded = () => {
    const shape = [
      ...indices.shape,
      equals(classes, -1)
        ? 1 + Math.max(-1, extremesOf(readNumbers('oneHot', indices)).most)
        : classes,
    ];
    const none = deviceGuard(indices.device, () => zeros(shape, { dtype: 'int32' }));
    return scatter(none, -1, unsqueeze(indices, -1), 1);
  };
  return tidy(() => naming('oneHot', encoded));
}
