/** Distributions of counts of trials that succeed or fail. */

import { expand } from '../ops/core/broadcast.ts';
import { cast } from '../ops/core/cast.ts';
import { binaryCrossEntropyWithLogits } from '../ops/loss/probability-losses.ts';
import { broadcastTensors } from '../ops/movement/exports.ts';
import { fullLike } from '../ops/movement/ranges.ts';
import {
  abs,
  add,
  clampMax,
  clampMin,
  div,
  eq,
  exp,
  floor,
  ge,
  lgamma,
  log,
  log1p,
  logicalAnd,
  lt,
  maskedFill,
  mul,
  neg,
  type Operand,
  reciprocal,
  rsub,
  softplus,
  sub,
} from '../ops/pointwise/pointwise.ts';
import { sum } from '../ops/reduce/reduce.ts';
import { expectArguments } from '../options/expect-options.ts';
import { count } from '../options/option-kinds.ts';
import type { Shape } from '../spec/shape.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Distribution, tiniestOf, uniformFor } from './distribution.ts';
import {
  binaryOf,
  type LikelihoodName,
  type LikelihoodsOf,
  logitsOf,
  probsOf,
} from './likelihoods.ts';
import { valuesTo } from './values-to.ts';

/** A distribution with the probability of 1, or with its log-odds. */
abstract class OfTrials extends Distribution {
  protected readonly given: LikelihoodName;
  protected readonly value: Tensor;

  constructor(owner: string, likelihoods: LikelihoodsOf<Operand>, ...surplus: []) {
    const [kind, value] = tidy(() => binaryOf(owner, likelihoods));
    super(value.shape, [], ...surplus);
    this.given = kind;
    this.value = value;
  }

  override get hasRsample(): boolean {
    return false;
  }

  /** The probabilities of 1. */
  get probs(): Tensor {
    return tidy(() => probsOf(this.given, this.value));
  }

  /** The log-odds of 1. */
  get logits(): Tensor {
    return tidy(() => logitsOf(this.given, this.value));
  }

  /** Returns the parameter for a larger batch. */
  protected expanded(batchShape: Shape): { readonly probs?: Tensor; readonly logits?: Tensor } {
    return { [this.given]: expand(this.value, batchShape) };
  }
}

/** Returns the cross entropy of 0 and 1 for each element. */
function crossEntropyOf(logits: Tensor, value: Tensor): Tensor {
  const [scores, target] = broadcastTensors(logits, value) as [Tensor, Tensor];
  return binaryCrossEntropyWithLogits(scores, cast(target, scores.dtype), { reduction: 'none' });
}

/** The distribution of 0 and 1: `new Bernoulli(probs)` or `new Bernoulli({ logits })`. */
export class Bernoulli extends OfTrials {
  constructor(likelihoods: LikelihoodsOf<Operand>, ...surplus: []) {
    super('Bernoulli', likelihoods, ...surplus);
  }

  override get mean(): Tensor {
    return this.probs;
  }

  /** NaN where both are as probable. */
  override get mode(): Tensor {
    return tidy(() => {
      const { probs } = this;
      return maskedFill(cast(ge(probs, 0.5), probs.dtype), eq(probs, 0.5), Number.NaN);
    });
  }

  override get variance(): Tensor {
    return tidy(() => mul(this.probs, rsub(this.probs, 1)));
  }

  override logProb(value: Tensor): Tensor {
    return tidy(() => neg(crossEntropyOf(this.logits, value)));
  }

  override entropy(): Tensor {
    return tidy(() => crossEntropyOf(this.logits, this.probs));
  }

  override enumerateSupport(expanded = true): Tensor {
    return valuesTo(this.value, 2, this.batchShape, expanded);
  }

  override expand(batchShape: Shape): Bernoulli {
    return new Bernoulli(this.expanded(batchShape));
  }

  override divergenceTo(other: Distribution): Tensor | null {
    if (!(other instanceof Bernoulli)) return null;
    return tidy(() => {
      const [p, q] = [this.probs, other.probs];
      const gap = (sign: 1 | -1) =>
        sub(softplus(mul(other.logits, sign)), softplus(mul(this.logits, sign)));
      const part = (share: Tensor, gaps: Tensor, isLost: Tensor) => {
        const terms = mul(share, gaps);
        const [all, lost] = broadcastTensors(terms, isLost) as [Tensor, Tensor];
        return maskedFill(maskedFill(all, lost, Infinity), eq(expand(share, all.shape), 0), 0);
      };
      return add(part(p, gap(-1), eq(q, 0)), part(rsub(p, 1), gap(1), eq(q, 1)));
    });
  }

  protected override draw(shape: Shape): Tensor {
    const drawn = uniformFor(this.value, this.extended(shape));
    return cast(lt(drawn, this.probs), drawn.dtype);
  }
}

/** The distribution of the number of failures before the first success. */
export class Geometric extends OfTrials {
  constructor(likelihoods: LikelihoodsOf<Operand>, ...surplus: []) {
    super('Geometric', likelihoods, ...surplus);
  }

  override get mean(): Tensor {
    return tidy(() => sub(reciprocal(this.probs), 1));
  }

  override get mode(): Tensor {
    return fullLike(this.value, 0);
  }

  override get variance(): Tensor {
    return tidy(() => div(sub(reciprocal(this.probs), 1), this.probs));
  }

  override logProb(value: Tensor): Tensor {
    return tidy(() => {
      const [all, probs] = broadcastTensors(value, this.probs) as [Tensor, Tensor];
      // 0 · ln 0 is 0 here.
      const isSure = logicalAnd(eq(probs, 1), eq(all, 0));
      return add(mul(all, log1p(neg(maskedFill(probs, isSure, 0)))), log(probs));
    });
  }

  override entropy(): Tensor {
    return tidy(() => div(crossEntropyOf(this.logits, this.probs), this.probs));
  }

  override expand(batchShape: Shape): Geometric {
    return new Geometric(this.expanded(batchShape));
  }

  override divergenceTo(other: Distribution): Tensor | null {
    if (!(other instanceof Geometric)) return null;
    return tidy(() =>
      sub(sub(neg(this.entropy()), div(log1p(neg(other.probs)), this.probs)), other.logits),
    );
  }

  protected override draw(shape: Shape): Tensor {
    const uniform = uniformFor(this.value, this.extended(shape));
    const positive = clampMin(uniform, tiniestOf(uniform));
    return floor(div(log(positive), log1p(neg(this.probs))));
  }
}

const countKinds = { totalCount: count(0) };

/** The distribution of the number of successes in `totalCount` trials. */
export class Binomial extends OfTrials {
  readonly totalCount: number;

  constructor(totalCount: number, likelihoods: LikelihoodsOf<Operand>, ...surplus: []) {
    expectArguments('Binomial', { totalCount }, countKinds);
    super('Binomial', likelihoods, ...surplus);
    this.totalCount = totalCount;
  }

  override get mean(): Tensor {
    return tidy(() => mul(this.probs, this.totalCount));
  }

  override get mode(): Tensor {
    return tidy(() => clampMax(floor(mul(this.probs, this.totalCount + 1)), this.totalCount));
  }

  override get variance(): Tensor {
    return tidy(() => mul(mul(this.probs, this.totalCount), rsub(this.probs, 1)));
  }

  override logProb(value: Tensor): Tensor {
    return tidy(() => {
      const { logits, totalCount: n } = this;
      const orders = add(lgamma(add(value, 1)), lgamma(add(rsub(value, n), 1)));
      const total = add(mul(clampMin(logits, 0), n), mul(log1p(exp(neg(abs(logits)))), n));
      const all = sub(total, lgamma(fullLike(logits, n + 1, { shape: [] })));
      return sub(sub(mul(value, logits), orders), all);
    });
  }

  override entropy(): Tensor {
    return tidy(() => {
      const logs = this.logProb(this.enumerateSupport(false));
      return neg(sum(mul(exp(logs), logs), 0));
    });
  }

  override enumerateSupport(expanded = true): Tensor {
    return valuesTo(this.value, this.totalCount + 1, this.batchShape, expanded);
  }

  override expand(batchShape: Shape): Binomial {
    return new Binomial(this.totalCount, this.expanded(batchShape));
  }

  override divergenceTo(other: Distribution): Tensor | null {
    if (!(other instanceof Binomial) || other.totalCount !== this.totalCount) return null;
    return tidy(() => {
      const logs = mul(this.probs, sub(this.logits, other.logits));
      const rest = sub(log1p(neg(this.probs)), log1p(neg(other.probs)));
      return mul(add(logs, rest), this.totalCount);
    });
  }

  protected override draw(shape: Shape): Tensor {
    const drawn = uniformFor(this.value, [this.totalCount, ...this.extended(shape)]);
    return sum(cast(lt(drawn, this.probs), drawn.dtype), 0);
  }
}
