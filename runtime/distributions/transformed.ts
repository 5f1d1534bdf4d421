import { add, mul, rsub, sub } from '../ops/pointwise/pointwise.ts';
import { expectArguments } from '../options/expect-options.ts';
import { arrayOf, either, that } from '../options/option-kinds.ts';
import type { Shape } from '../spec/shape.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Distribution, sumLast } from './distribution.ts';
import { ComposeTransform, Transform } from './transforms.ts';

const aTransform = that('a transform', (value) => value instanceof Transform);

const kinds = {
  base: that('a distribution', (value) => value instanceof Distribution),
  transforms: either(aTransform, arrayOf(aTransform)),
};

/** The distribution of values of `base` after transforms, such as `new TanhTransform()`. */
export class TransformedDistribution extends Distribution {
  readonly base: Distribution;
  readonly transform: Transform;

  constructor(base: Distribution, transforms: Transform | readonly Transform[], ...surplus: []) {
    expectArguments('TransformedDistribution', { base, transforms }, kinds);
    const transform =
      transforms instanceof Transform ? transforms : new ComposeTransform(transforms);
    const shape = transform.forwardShape([...base.batchShape, ...base.eventShape]);
    const cut = shape.length - Math.max(transform.eventDim, base.eventShape.length);
    super(shape.slice(0, cut), shape.slice(cut), ...surplus);
    // A tensor of the transform may have a larger batch.
    const before = transform.inverseShape(shape);
    const batch = before.slice(0, before.length - base.eventShape.length);
    const isLarger = batch.join() !== base.batchShape.join();
    this.base = isLarger ? base.expand(batch) : base;
    this.transform = transform;
  }

  override get hasRsample(): boolean {
    return this.base.hasRsample;
  }

  override logProb(value: Tensor): Tensor {
    return tidy(() => this.logProbOf(this.transform.inverse(value), value));
  }

  /**
   * Draws samples as `rsample`, with their logarithms of the density. They don't go through the inverse, which loses
   * digits where the transform saturates: PyTorch caches for it.
   */
  rsampleWithLogProb(shape: Shape = []): readonly [value: Tensor, logProb: Tensor] {
    return tidy(() => {
      const x = this.base.rsample(shape);
      const value = this.transform.forward(x);
      return [value, this.logProbOf(x, value)] as const;
    });
  }

  override cdf(value: Tensor): Tensor {
    return tidy(() => this.turned(this.base.cdf(this.transform.inverse(value))));
  }

  override icdf(probability: Tensor): Tensor {
    return tidy(() => this.transform.forward(this.base.icdf(this.turned(probability))));
  }

  override expand(batchShape: Shape): TransformedDistribution {
    // The base may have more dimensions in its batch than this has.
    const more = this.eventShape.length - this.base.eventShape.length;
    const rest = more > 0 ? this.base.batchShape.slice(-more) : [];
    return new TransformedDistribution(this.base.expand([...batchShape, ...rest]), this.transform);
  }

  protected logProbOf(x: Tensor, value: Tensor): Tensor {
    const { base, transform } = this;
    const events = this.eventShape.length;
    const stretched = transform.logAbsDetJacobian(x, value);
    return sub(
      sumLast(base.logProb(x), events - base.eventShape.length),
      sumLast(stretched, events - transform.eventDim),
    );
  }

  /** Returns the other side's probability for falling functions. */
  protected turned(probability: Tensor): Tensor {
    const { sign } = this.transform;
    if (sign === 1) return probability;
    if (sign === -1) return rsub(probability, 1);
    return add(mul(sub(probability, 0.5), sign), 0.5);
  }

  protected override draw(shape: Shape): Tensor {
    const { base, transform } = this;
    return transform.forward(base.hasRsample ? base.rsample(shape) : base.sample(shape));
  }
}
