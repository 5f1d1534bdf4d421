/** Attention as one function. */

import { noGrad } from '../../autograd/grad-mode.ts';
import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { anyOperand, aTensor, flag, judgedLater, orNull } from '../../options/option-kinds.ts';
import { dtypes, promote } from '../../spec/dtype.ts';
import { isHalf } from '../../spec/half.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, mul } from '../arithmetic/arithmetic.ts';
import { logicalNot } from '../arithmetic/logic.ts';
import { repeatInterleave } from '../arranging/rearrange.ts';
import { triu } from '../arranging/triangles.ts';
import { cast } from '../core/cast.ts';
import { anyHalf, wide } from '../core/rounded-once.ts';
import { transpose } from '../movement/movement.ts';
import { fullLike } from '../movement/ranges.ts';
import { softmax } from '../normalization/softmax.ts';
import { maskedFill } from '../pointwise/comparison.ts';
import { dropout } from '../random/dropout.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { matmul } from './matmul.ts';

export interface AttentionOptions {
  /** Bool, true where a query may attend to a key, or numbers added to the scores. Broadcasts to [.., L, S]. */
  readonly attnMask?: Tensor | null;
  /** The fraction of the weights that is randomly zeroed. */
  readonly dropoutP?: number;
  /** Lets query i attend only to keys 0 to i. */
  readonly isCausal?: boolean;
  /** The factor of the scores; 1/√features by default. */
  readonly scale?: number | null;
  /** Lets several query heads share one head of key and value; heads are dimension −3. */
  readonly enableGqa?: boolean;
}

const attentionOptions = {
  attnMask: orNull(aTensor),
  dropoutP: judgedLater,
  isCausal: flag,
  scale: orNull(anyOperand),
  enableGqa: flag,
  returnWeights: flag,
};

/**
 * softmax(query · keyᵀ · scale + mask) · value, for query [.., L, E], key [.., S, E], value [.., S, F]. With
 * `returnWeights`, returns `[output, weights]`.
 */
export function scaledDotProductAttention(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  options: AttentionOptions & { readonly returnWeights: true },
): [output: Tensor, weights: Tensor];
export function scaledDotProductAttention(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  options?: AttentionOptions & { readonly returnWeights?: boolean },
): Tensor;
export function scaledDotProductAttention(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  options: AttentionOptions & { readonly returnWeights?: boolean } = {},
): Tensor | [Tensor, Tensor] {
  return naming('scaledDotProductAttention', () => {
    expectTensors('scaledDotProductAttention', query, key, value);
    expectOptions('scaledDotProductAttention', options, attentionOptions);
    const { attnMask = null, dropoutP = 0, isCausal = false, scale = null } = options;
    expectFitting(query, key, value);
    if (attnMask && isCausal) {
      throw new ArgumentError({
        what: 'scaledDotProductAttention: two masks',
        given: `attnMask ${formatSpec(attnMask)} and isCausal`,
        expected: 'one of the two',
        remedy: 'make the mask causal itself: ones([L, S]).tril()',
      });
    }
    if (options.enableGqa) {
      const others = { ...options, enableGqa: false, returnWeights: true } as const;
      return tidy(() => {
        const [output, weights] = scaledDotProductAttention(
          query,
          headsFor(query, key),
          headsFor(query, value),
          others,
        );
        return options.returnWeights ? ([output, weights] as [Tensor, Tensor]) : output;
      });
    }
    if (anyHalf(query, key, value)) return tidy(() => ofHalves([query, key, value], options));
    return tidy(() => {
      const factor = scale ?? 1 / Math.sqrt(query.shape.at(-1)!);
      const scores = mul(matmul(query, transpose(key, -1, -2)), factor);
      const weights = dropout(softmax(masked(scores, attnMask, isCausal)), dropoutP);
      const output = matmul(weights, value);
      return options.returnWeights ? ([output, weights] as [Tensor, Tensor]) : output;
    });
  });
}

/** Computes scores, weights and output in float32 and rounds the results. */
function ofHalves(
  qkv: readonly [query: Tensor, key: Tensor, value: Tensor],
  options: AttentionOptions & { readonly returnWeights?: boolean },
): Tensor | [Tensor, Tensor] {
  const dtype = qkv.map((x) => x.dtype).reduce(promote);
  const [query, key, value] = qkv.map((x) => cast(x, wide(x.dtype))) as [Tensor, Tensor, Tensor];
  const mask =
    options.attnMask && isHalf(options.attnMask.dtype)
      ? cast(options.attnMask, 'float32')
      : (options.attnMask ?? null);
  const all = { ...options, attnMask: mask };
  if (!options.returnWeights)
    return cast(
      scaledDotProductAttention(query, key, value, { ...all, returnWeights: false }),
      dtype,
    );
  const found = scaledDotProductAttention(query, key, value, { ...all, returnWeights: true });
  return [cast(found[0], dtype), cast(found[1], dtype)];
}

/** Returns the keys or values with each head repeated for the query heads that share it. */
function headsFor(query: Tensor, shared: Tensor): Tensor {
  const [heads, own] = [query.shape.at(-3), shared.shape.at(-3)];
  if (heads && own && heads % own === 0) return repeatInterleave(shared, heads / own, -3);
  throw new ShapeError({
    what: 'scaledDotProductAttention: heads that cannot be shared',
    given: `${formatSpec(query)} for ${formatSpec(shared)}`,
    expected: '[.., heads, L, E] and [.., fewer heads, S, E], their number a divisor',
    remedy: 'check the order of the dimensions, or leave enableGqa out',
  });
}

function masked(scores: Tensor, mask: Tensor | null, isCausal: boolean): Tensor {
  if (isCausal) {
    const shape = scores.shape.slice(-2);
    const later = noGrad(() => triu(fullLike(scores, 1, { shape, dtype: 'int32' }), 1));
    return maskedFill(scores, later, Number.NEGATIVE_INFINITY);
  }
  if (!mask) return scores;
  if (dtypes[mask.dtype].floating) return add(scores, mask);
  return maskedFill(scores, logicalNot(mask), Number.NEGATIVE_INFINITY);
}

function expectFitting(query: Tensor, key: Tensor, value: Tensor): void {
  const [e, keys] = [query.shape.at(-1), key.shape.at(-2)];
  const ranks = [query, key, value].every(({ rank }) => rank >= 2);
  if (ranks && e === key.shape.at(-1) && keys === value.shape.at(-2)) return;
  throw new ShapeError({
    what: "scaledDotProductAttention: query, key and value don't fit",
    given: [query, key, value].map(formatSpec).join(', '),
    expected: '[.., L, E], [.., S, E] and [.., S, F]',
    remedy: 'check the number of features, and the order of the dimensions',
  });
}
