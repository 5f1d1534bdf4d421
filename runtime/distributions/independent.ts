import { ArgumentError } from '../errors/errors.ts';
import { expectArguments } from '../options/expect-options.ts';
import { count, that } from '../options/option-kinds.ts';
import type { Shape } from '../spec/shape.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Distribution, sumLast } from './distribution.ts';

const kinds = {
  base: that('a distribution', (value) => value instanceof Distribution),
  dims: count(0),
};

/** Makes the last `dims` dimensions of a batch dimensions of the events: their log-probabilities are added. */
export class Independent extends Distribution {
  readonly base: Distribution;
  readonly dims: number;

  constructor(base: Distribution, dims: number, ...surplus: []) {
    expectArguments('Independent', { base, dims }, kinds);
    const { batchShape, eventShape } = base;
    const cut = batchShape.length - dims;
    if (cut < 0) throw tooMany(batchShape, dims);
    super(batchShape.slice(0, cut), [...batchShape.slice(cut), ...eventShape], ...surplus);
    this.base = base;
    this.dims = dims;
  }

  override get hasRsample(): boolean {
    return this.base.hasRsample;
  }

  override get mean(): Tensor {
    return this.base.mean;
  }

  override get mode(): Tensor {
    return this.base.mode;
  }

  override get variance(): Tensor {
    return this.base.variance;
  }

  override logProb(value: Tensor): Tensor {
    return tidy(() => sumLast(this.base.logProb(value), this.dims));
  }

  override entropy(): Tensor {
    return tidy(() => sumLast(this.base.entropy(), this.dims));
  }

  override expand(batchShape: Shape): Independent {
    const independent = this.eventShape.slice(0, this.dims);
    return new Independent(this.base.expand([...batchShape, ...independent]), this.dims);
  }

  override divergenceTo(other: Distribution): Tensor | null {
    if (!(other instanceof Independent) || other.dims !== this.dims) return null;
    return tidy(() => {
      const each = this.base.divergenceTo(other.base);
      return each && sumLast(each, this.dims);
    });
  }

  protected override draw(shape: Shape): Tensor {
    return this.base.hasRsample ? this.base.rsample(shape) : this.base.sample(shape);
  }
}

const tooMany = (batchShape: Shape, dims: number): ArgumentError =>
  new ArgumentError({
    what: 'Independent: more dimensions than the batch has',
    given: `${dims} of [${batchShape.join()}]`,
    expected: `0 to ${batchShape.length}`,
    remedy: 'give the parameters a dimension for each',
  });
