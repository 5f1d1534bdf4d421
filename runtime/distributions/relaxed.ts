/** Continuous relaxations of discrete distributions, which have gradients of samples. */

import { expand } from '../ops/core/broadcast.ts';
import { broadcastTensors } from '../ops/movement/exports.ts';
import { fullLike } from '../ops/movement/ranges.ts';
import {
  add,
  div,
  exp,
  lgamma,
  log,
  log1p,
  mul,
  neg,
  type Operand,
  sub,
} from '../ops/pointwise/pointwise.ts';
import { sum } from '../ops/reduce/reduce.ts';
import { logsumexp } from '../ops/reduce/statistics.ts';
import { positive } from '../options/option-kinds.ts';
import type { Shape } from '../spec/shape.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Bernoulli } from './binary.ts';
import { OneHotCategorical } from './categorical.ts';
import { Distribution, parameter, parametersOf, uniformFor } from './distribution.ts';
import { inside, type LikelihoodsOf } from './likelihoods.ts';
import { TransformedDistribution } from './transformed.ts';
import { ExpTransform, SigmoidTransform } from './transforms.ts';

const kinds = { temperature: parameter(positive) };

const temperatureOf = (owner: string, temperature: Operand): Tensor =>
  parametersOf(owner, { temperature }, kinds)[0]!;

/** The log-odds of a relaxed Bernoulli distribution. */
export class LogitRelaxedBernoulli extends Distribution {
  readonly temperature: Tensor;
  readonly relaxed: Bernoulli;

  constructor(temperature: Operand, likelihoods: LikelihoodsOf<Operand>, ...surplus: []) {
    const relaxed = new Bernoulli(likelihoods);
    super(relaxed.batchShape, [], ...surplus);
    this.temperature = tidy(() => temperatureOf('LogitRelaxedBernoulli', temperature));
    this.relaxed = relaxed;
  }

  get probs(): Tensor {
    return this.relaxed.probs;
  }

  get logits(): Tensor {
    return this.relaxed.logits;
  }

  override logProb(value: Tensor): Tensor {
    return tidy(() => {
      const [logits, sample] = broadcastTensors(this.logits, value) as [Tensor, Tensor];
      const gap = sub(logits, mul(sample, this.temperature));
      return sub(add(log(this.temperature), gap), mul(log1p(exp(gap)), 2));
    });
  }

  override expand(batchShape: Shape): LogitRelaxedBernoulli {
    const logits = expand(this.logits, batchShape);
    return new LogitRelaxedBernoulli(this.temperature, { logits });
  }

  protected override draw(shape: Shape): Tensor {
    const probs = inside(this.probs);
    const uniform = inside(uniformFor(probs, this.extended(shape)));
    const odds = (x: Tensor) => sub(log(x), log1p(neg(x)));
    return div(add(odds(uniform), odds(probs)), this.temperature);
  }
}

/** Numbers between 0 and 1 that approach those of `Bernoulli` at low temperatures. */
export class RelaxedBernoulli extends TransformedDistribution {
  constructor(temperature: Operand, likelihoods: LikelihoodsOf<Operand>, ...surplus: []) {
    super(new LogitRelaxedBernoulli(temperature, likelihoods), new SigmoidTransform(), ...surplus);
  }

  get temperature(): Tensor {
    return (this.base as LogitRelaxedBernoulli).temperature;
  }

  override expand(batchShape: Shape): RelaxedBernoulli {
    const { logits } = this.base as LogitRelaxedBernoulli;
    return new RelaxedBernoulli(this.temperature, { logits: expand(logits, batchShape) });
  }
}

/** The logarithms of a relaxed one-hot vector. */
class ExpRelaxedCategorical extends Distribution {
  readonly temperature: Tensor;
  readonly relaxed: OneHotCategorical;

  constructor(temperature: Operand, likelihoods: LikelihoodsOf<Tensor>, ...surplus: []) {
    const relaxed = new OneHotCategorical(likelihoods);
    super(relaxed.batchShape, relaxed.eventShape, ...surplus);
    this.temperature = tidy(() => temperatureOf('RelaxedOneHotCategorical', temperature));
    this.relaxed = relaxed;
  }

  override logProb(value: Tensor): Tensor {
    return tidy(() => {
      const { temperature, relaxed } = this;
      const classes = relaxed.numEvents;
      const [logits, sample] = broadcastTensors(relaxed.logits, value) as [Tensor, Tensor];
      const scores = sub(logits, mul(sample, temperature));
      const total = sum(sub(scores, logsumexp(scores, -1, { keepDim: true })), -1);
      const scale = add(lgamma(fullLike(temperature, classes)), mul(log(temperature), classes - 1));
      return add(total, scale);
    });
  }

  override expand(batchShape: Shape): ExpRelaxedCategorical {
    const { logits, numEvents } = this.relaxed;
    return new ExpRelaxedCategorical(this.temperature, {
      logits: expand(logits, [...batchShape, numEvents]),
    });
  }

  protected override draw(shape: Shape): Tensor {
    const { logits } = this.relaxed;
    const uniform = inside(uniformFor(logits, this.extended(shape)));
    const scores = div(sub(logits, log(neg(log(uniform)))), this.temperature);
    return sub(scores, logsumexp(scores, -1, { keepDim: true }));
  }
}

/** Shares that sum to 1 and approach one-hot vectors at low temperatures. */
export class RelaxedOneHotCategorical extends TransformedDistribution {
  constructor(temperature: Operand, likelihoods: LikelihoodsOf<Tensor>, ...surplus: []) {
    super(new ExpRelaxedCategorical(temperature, likelihoods), new ExpTransform(), ...surplus);
  }

  get temperature(): Tensor {
    return (this.base as ExpRelaxedCategorical).temperature;
  }

  override expand(batchShape: Shape): RelaxedOneHotCategorical {
    const { logits, numEvents } = (this.base as ExpRelaxedCategorical).relaxed;
    return new RelaxedOneHotCategorical(this.temperature, {
      logits: expand(logits, [...batchShape, numEvents]),
    });
  }
}
