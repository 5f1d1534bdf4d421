import { ArgumentError } from '../errors/errors.ts';
import { expand } from '../ops/core/broadcast.ts';
import { gather } from '../ops/indexing/gather.ts';
import { reshape, squeeze, unsqueeze } from '../ops/movement/movement.ts';
import { add, mul, square, sub } from '../ops/pointwise/pointwise.ts';
import { sum } from '../ops/reduce/reduce.ts';
import { logsumexp } from '../ops/reduce/statistics.ts';
import { expectArguments } from '../options/expect-options.ts';
import { that } from '../options/option-kinds.ts';
import type { Shape } from '../spec/shape.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Categorical } from './categorical.ts';
import { Distribution } from './distribution.ts';

const kinds = {
  mixture: that('a Categorical', (value) => value instanceof Categorical),
  components: that('a distribution', (value) => value instanceof Distribution),
};

/** A mixture: `mixture` chooses among the last dimension of the batch of `components`. */
export class MixtureSameFamily extends Distribution {
  readonly mixture: Categorical;
  readonly components: Distribution;

  constructor(mixture: Categorical, components: Distribution, ...surplus: []) {
    expectArguments('MixtureSameFamily', { mixture, components }, kinds);
    const { batchShape, eventShape } = components;
    if (batchShape.at(-1) !== mixture.numEvents) throw unequal(mixture.numEvents, batchShape);
    super(batchShape.slice(0, -1), eventShape, ...surplus);
    this.mixture = mixture;
    this.components = components;
  }

  override get hasRsample(): boolean {
    return false;
  }

  override get mean(): Tensor {
    return tidy(() => this.average(this.components.mean));
  }

  override get variance(): Tensor {
    return tidy(() => {
      const { mean, variance } = this.components;
      const center = unsqueeze(this.mean, this.place);
      return add(this.average(variance), this.average(square(sub(mean, center))));
    });
  }

  override logProb(value: Tensor): Tensor {
    return tidy(() => {
      const each = this.components.logProb(unsqueeze(value, this.place));
      return logsumexp(add(each, this.mixture.logits), -1);
    });
  }

  override cdf(value: Tensor): Tensor {
    return tidy(() => {
      const each = this.components.cdf(unsqueeze(value, this.place));
      return sum(mul(each, this.mixture.probs), -1);
    });
  }

  override expand(batchShape: Shape): MixtureSameFamily {
    const components = this.components.expand([...batchShape, this.mixture.numEvents]);
    return new MixtureSameFamily(this.mixture.expand(batchShape), components);
  }

  protected override draw(shape: Shape): Tensor {
    const { batchShape, eventShape } = this;
    const classes = this.mixture.expand(batchShape).sample(shape);
    const each = this.components.sample(shape);
    const dim = each.rank - 1 - eventShape.length;
    const events = eventShape.map(() => 1);
    const column = reshape(classes, [...shape, ...batchShape, 1, ...events]);
    const index = expand(column, [...shape, ...batchShape, 1, ...eventShape]);
    return squeeze(gather(each, dim, index), dim);
  }

  /** The dimension of the components. */
  protected get place(): number {
    return -1 - this.eventShape.length;
  }

  protected average(values: Tensor): Tensor {
    const { probs } = this.mixture;
    const shares = reshape(probs, [...probs.shape, ...this.eventShape.map(() => 1)]);
    return sum(mul(values, shares), this.place);
  }
}

const unequal = (classes: number, batchShape: Shape): ArgumentError =>
  new ArgumentError({
    what: 'MixtureSameFamily: not a component for each class',
    given: `${classes} classes for components [${batchShape.join()}]`,
    expected: `components […batch, ${classes}]`,
    remedy: 'the last dimension of the components is chosen from',
  });
