/** Distributions over the classes of the last dimension. */

import { deviceGuard } from '../device/current.ts';
import { oneHot } from '../ops/advanced-indexing/embedding.ts';
import { expand } from '../ops/core/broadcast.ts';
import { cast } from '../ops/core/cast.ts';
import { gather } from '../ops/indexing/gather.ts';
import { broadcastTensors } from '../ops/movement/exports.ts';
import { reshape, select, squeeze, transpose, unsqueeze } from '../ops/movement/movement.ts';
import { eye, fullLike } from '../ops/movement/ranges.ts';
import {
  add,
  clampMin,
  eq,
  exp,
  lgamma,
  logicalAnd,
  maskedFill,
  mul,
  neg,
  rsub,
  sub,
} from '../ops/pointwise/pointwise.ts';
import { multinomial } from '../ops/random/random.ts';
import { argmax } from '../ops/reduce/extremes.ts';
import { sum } from '../ops/reduce/reduce.ts';
import { expectArguments } from '../options/expect-options.ts';
import { count } from '../options/option-kinds.ts';
import { type Shape, sizeOf } from '../spec/shape.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Binomial } from './binary.ts';
import { Distribution } from './distribution.ts';
import {
  classesOf,
  classLogitsOf,
  classProbsOf,
  type LikelihoodName,
  type LikelihoodsOf,
} from './likelihoods.ts';
import { expandedKinds, valuesTo } from './values-to.ts';

/** A distribution with a probability for each class. */
abstract class OfClasses extends Distribution {
  protected readonly given: LikelihoodName;
  protected readonly value: Tensor;

  constructor(
    owner: string,
    likelihoods: LikelihoodsOf<Tensor>,
    hasEvents: boolean,
    ...surplus: []
  ) {
    const [kind, value] = tidy(() => classesOf(owner, likelihoods));
    super(value.shape.slice(0, -1), hasEvents ? value.shape.slice(-1) : [], ...surplus);
    this.given = kind;
    this.value = value;
  }

  override get hasRsample(): boolean {
    return false;
  }

  /** The number of classes. */
  get numEvents(): number {
    return this.value.shape.at(-1)!;
  }

  /** Probabilities, normalized. */
  get probs(): Tensor {
    return tidy(() => classProbsOf(this.given, this.value));
  }

  /** Log-probabilities, normalized. */
  get logits(): Tensor {
    return tidy(() => classLogitsOf(this.given, this.value));
  }

  override entropy(): Tensor {
    return tidy(() => this.classEntropy());
  }

  protected classEntropy(): Tensor {
    const { logits } = this;
    // −∞ · 0 is 0 here.
    return neg(sum(mul(clampMin(logits, leastOf(logits)), this.probs), -1));
  }

  protected expanded(batchShape: Shape): { readonly probs?: Tensor; readonly logits?: Tensor } {
    return { [this.given]: expand(this.value, [...batchShape, this.numEvents]) };
  }

  /** Draws classes, int32 [...shape, ...batchShape]. */
  protected drawnClasses(shape: Shape): Tensor {
    const { numEvents, batchShape } = this;
    const rows = reshape(this.probs, [sizeOf(batchShape), numEvents]);
    const drawn = transpose(multinomial(rows, sizeOf(shape), true), 0, 1);
    return reshape(drawn, [...shape, ...batchShape]);
  }

  protected classDivergence(other: OfClasses): Tensor {
    return tidy(() => {
      const terms = mul(this.probs, sub(this.logits, other.logits));
      const lost = expand(eq(other.probs, 0), terms.shape);
      const never = expand(eq(this.probs, 0), terms.shape);
      return sum(maskedFill(maskedFill(terms, lost, Infinity), never, 0), -1);
    });
  }
}

/** The most negative number of each dtype. */
const leastOf = (x: Tensor): number =>
  ({
    float64: -Number.MAX_VALUE,
    float32: -3.4028234663852886e38,
    bfloat16: -3.3895313892515355e38,
    float16: -65504,
  })[x.dtype as 'float64' | 'float32' | 'bfloat16' | 'float16'];

/** The distribution of class numbers, int32: `new Categorical({ logits })` or `new Categorical(probs)`. */
export class Categorical extends OfClasses {
  constructor(likelihoods: LikelihoodsOf<Tensor>, ...surplus: []) {
    super('Categorical', likelihoods, false, ...surplus);
  }

  /** NaN: classes have no mean. */
  override get mean(): Tensor {
    return fullLike(this.value, Number.NaN, { shape: this.batchShape });
  }

  override get mode(): Tensor {
    return argmax(this.value, -1);
  }

  /** NaN. */
  override get variance(): Tensor {
    return this.mean;
  }

  override logProb(value: Tensor): Tensor {
    return tidy(() => {
      const { logits } = this;
      const [classes] = broadcastTensors(cast(value, 'int32'), select(logits, -1, 0));
      const scores = expand(logits, [...classes!.shape, this.numEvents]);
      return squeeze(gather(scores, -1, unsqueeze(classes!, -1)), -1);
    });
  }

  override enumerateSupport(expanded = true): Tensor {
    return tidy(() =>
      cast(valuesTo(this.value, this.numEvents, this.batchShape, expanded), 'int32'),
    );
  }

  override expand(batchShape: Shape): Categorical {
    return new Categorical(this.expanded(batchShape));
  }

  override divergenceTo(other: Distribution): Tensor | null {
    return other instanceof Categorical ? this.classDivergence(other) : null;
  }

  protected override draw(shape: Shape): Tensor {
    return this.drawnClasses(shape);
  }
}

/** The distribution of one-hot vectors. */
export class OneHotCategorical extends OfClasses {
  constructor(likelihoods: LikelihoodsOf<Tensor>, ...surplus: []) {
    super('OneHotCategorical', likelihoods, true, ...surplus);
  }

  override get mean(): Tensor {
    return this.probs;
  }

  override get mode(): Tensor {
    return tidy(() => this.vectors(argmax(this.value, -1)));
  }

  override get variance(): Tensor {
    return tidy(() => mul(this.probs, rsub(this.probs, 1)));
  }

  override logProb(value: Tensor): Tensor {
    return tidy(() => new Categorical({ [this.given]: this.value }).logProb(argmax(value, -1)));
  }

  override enumerateSupport(expanded = true): Tensor {
    expectArguments('enumerateSupport', { expanded }, expandedKinds);
    return tidy(() => {
      const n = this.numEvents;
      const { device, dtype } = this.value;
      const all = deviceGuard(device, () => eye(n, n, { dtype }));
      const column = reshape(all, [n, ...this.batchShape.map(() => 1), n]);
      return expanded ? expand(column, [n, ...this.batchShape, n]) : column;
    });
  }

  override expand(batchShape: Shape): this {
    const Own = this.constructor as new (likelihoods: LikelihoodsOf<Tensor>) => this;
    return new Own(this.expanded(batchShape));
  }

  override divergenceTo(other: Distribution): Tensor | null {
    return other instanceof OneHotCategorical ? this.classDivergence(other) : null;
  }

  protected override draw(shape: Shape): Tensor {
    return this.vectors(this.drawnClasses(shape));
  }

  protected vectors(classes: Tensor): Tensor {
    return cast(oneHot(classes, this.numEvents), this.value.dtype);
  }
}

/** One-hot vectors whose samples of `rsample` have the gradient of the probabilities. */
export class OneHotCategoricalStraightThrough extends OneHotCategorical {
  override get hasRsample(): boolean {
    return true;
  }

  override rsample(shape: Shape = []): Tensor {
    const drawn = this.sample(shape);
    return tidy(() => {
      const { probs } = this;
      return add(drawn, sub(probs, probs.detach()));
    });
  }
}

const countKinds = { totalCount: count(1) };

/** The distribution of how often each class comes up in `totalCount` draws. */
export class Multinomial extends OfClasses {
  readonly totalCount: number;

  constructor(totalCount: number, likelihoods: LikelihoodsOf<Tensor>, ...surplus: []) {
    expectArguments('Multinomial', { totalCount }, countKinds);
    super('Multinomial', likelihoods, true, ...surplus);
    this.totalCount = totalCount;
  }

  override get mean(): Tensor {
    return tidy(() => mul(this.probs, this.totalCount));
  }

  override get variance(): Tensor {
    return tidy(() => mul(mul(this.probs, this.totalCount), rsub(this.probs, 1)));
  }

  override logProb(value: Tensor): Tensor {
    return tidy(() => {
      const [counts, logits] = broadcastTensors(value, this.logits) as [Tensor, Tensor];
      const never = logicalAnd(eq(counts, 0), eq(logits, -Infinity));
      const powers = sum(mul(maskedFill(logits, never, 0), counts), -1);
      const orders = sum(lgamma(add(counts, 1)), -1);
      return add(sub(lgamma(add(sum(counts, -1), 1)), orders), powers);
    });
  }

  override entropy(): Tensor {
    return tidy(() => {
      const n = this.totalCount;
      const each = new Binomial(n, { probs: this.probs });
      const counts = each.enumerateSupport(false);
      const weights = mul(exp(each.logProb(counts)), lgamma(add(counts, 1)));
      const classes = mul(this.classEntropy(), n);
      const orders = lgamma(fullLike(classes, n + 1, { shape: [] }));
      return add(sub(classes, orders), sum(sum(weights, 0), -1));
    });
  }

  override expand(batchShape: Shape): Multinomial {
    return new Multinomial(this.totalCount, this.expanded(batchShape));
  }

  protected override draw(shape: Shape): Tensor {
    const classes = this.drawnClasses([this.totalCount, ...shape]);
    return cast(sum(oneHot(classes, this.numEvents), 0), this.value.dtype);
  }
}
