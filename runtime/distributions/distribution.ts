import { noGrad } from '../autograd/grad-mode.ts';
import { deviceGuard } from '../device/current.ts';
import { formatSpec } from '../device/tensor-meta.ts';
import { ArgumentError, DTypeError } from '../errors/errors.ts';
import { full } from '../ops/movement/create.ts';
import { broadcastTensors } from '../ops/movement/exports.ts';
import { fullLike } from '../ops/movement/ranges.ts';
import type { Operand } from '../ops/pointwise/pointwise.ts';
import { exp, sqrt } from '../ops/pointwise/pointwise.ts';
import { rand, randn } from '../ops/random/drawn.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import { sum } from '../ops/reduce/reduce.ts';
import {
  expectArguments,
  expectNoMore,
  type OptionKinds,
  wrongValue,
} from '../options/expect-options.ts';
import { isTensor } from '../options/is-tensor.ts';
import { aTensor, either, type OptionKind } from '../options/option-kinds.ts';
import type { Shape } from '../spec/shape.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { DistributionNames } from './absent-names.ts';

/**
 * A batch of probability distributions: `batchShape` has one for each set of parameters, and each draws tensors of
 * `eventShape`. Parameters are tensors or numbers, which are broadcast. The values of tensors aren't checked.
 */
export abstract class Distribution extends (DistributionNames as new () => object) {
  readonly batchShape: Shape;
  readonly eventShape: Shape;

  constructor(batchShape: Shape, eventShape: Shape = [], ...surplus: []) {
    super();
    expectNoMore(new.target.name, surplus);
    this.batchShape = batchShape;
    this.eventShape = eventShape;
  }

  /** Whether gradients flow through samples of `rsample` to the parameters. */
  get hasRsample(): boolean {
    return true;
  }

  get mean(): Tensor {
    throw notOffered(this, 'mean');
  }

  /** The most probable value. */
  get mode(): Tensor {
    throw notOffered(this, 'mode');
  }

  get variance(): Tensor {
    throw notOffered(this, 'variance');
  }

  get stddev(): Tensor {
    return tidy(() => sqrt(this.variance));
  }

  /** Draws samples of shape [...shape, ...batchShape, ...eventShape], without gradients. */
  sample(shape: Shape = []): Tensor {
    expectShape(this, shape);
    return noGrad(() => tidy(() => this.draw(shape)));
  }

  /** Draws samples as `sample`, differentiable in the parameters. Throws ArgumentError if `hasRsample` is false. */
  rsample(shape: Shape = []): Tensor {
    expectShape(this, shape);
    if (!this.hasRsample) throw notOffered(this, 'rsample', 'use sample() and logProb()');
    return tidy(() => this.draw(shape));
  }

  /** Returns the logarithm of the density, or of the probability, of values. */
  abstract logProb(value: Tensor): Tensor;

  /** Returns the probability of at most this value. */
  cdf(_value: Tensor): Tensor {
    throw notOffered(this, 'cdf');
  }

  /** Returns the value below which this much of the probability lies. */
  icdf(_probability: Tensor): Tensor {
    throw notOffered(this, 'icdf');
  }

  /** Returns the entropy in nats, of batchShape. */
  entropy(): Tensor {
    throw notOffered(this, 'entropy');
  }

  /** Returns e to the power of the entropy. */
  perplexity(): Tensor {
    return tidy(() => exp(this.entropy()));
  }

  /** Returns all values of a discrete distribution, with a leading dimension: [values, ...batchShape, ...eventShape]. */
  enumerateSupport(_expanded = true): Tensor {
    throw notOffered(this, 'enumerateSupport');
  }

  /** Returns the same distribution for a larger batch. */
  abstract expand(batchShape: Shape): Distribution;

  /** Draws samples; gradients are recorded by the caller's choice. */
  protected abstract draw(shape: Shape): Tensor;

  /** Returns KL(this ‖ other); null if there is no closed form. Called by `klDivergence`. */
  divergenceTo(_other: Distribution): Tensor | null {
    return null;
  }

  /** Returns the shape of `shape` samples. */
  protected extended(shape: Shape): Shape {
    return [...shape, ...this.batchShape, ...this.eventShape];
  }
}

/** Returns the error for what a distribution has no formula for. */
function notOffered(
  of: Distribution,
  name: string,
  remedy = 'estimate it from samples: d.sample([1000])',
): ArgumentError {
  return new ArgumentError({
    what: `${of.constructor.name}: no ${name}`,
    given: `${name} of ${of.constructor.name}`,
    expected: 'what docs/distributions.md lists for it',
    remedy,
  });
}

function expectShape(of: Distribution, shape: Shape): void {
  const isShape = Array.isArray(shape) && shape.every((dim) => Number.isInteger(dim) && dim >= 0);
  if (!isShape) throw wrongValue(of.constructor.name, 'shape', shape, 'sizes in an array');
}

/** A number of the kind, or a tensor, whose values aren't checked. */
export const parameter = (kind: OptionKind): OptionKind => either(kind, aTensor);

/**
 * Returns the parameters as tensors of one shape; numbers take dtype and device of the first tensor. Throws
 * ArgumentError for other values, and for numbers out of range; DTypeError for integer tensors.
 */
export function parametersOf<P extends Readonly<Record<string, Operand>>>(
  owner: string,
  parameters: P,
  kinds: OptionKinds<P>,
): Tensor[] {
  expectArguments(owner, parameters, kinds);
  const values: readonly Operand[] = Object.values(parameters);
  const like = values.find((value) => isTensor(value)) as Tensor | undefined;
  const tensors = values.map((value) => {
    if (isTensor(value)) return expectFloating(owner, value as Tensor);
    return like ? fullLike(like, value as number, { shape: [] }) : full([], value as number);
  });
  return tensors.length === 1 ? tensors : broadcastTensors(...tensors);
}

/** Returns the parameter. Throws DTypeError for integers, DisposedError for a disposed tensor. */
export function expectFloating(owner: string, parameter: Tensor): Tensor {
  expectTensors(owner, parameter);
  if (isFloating(parameter)) return parameter;
  throw new DTypeError({
    what: `${owner}: a parameter of integers`,
    given: formatSpec(parameter),
    expected: 'a floating-point tensor',
    remedy: 'cast it: x.float()',
  });
}

/** Draws from [0, 1) on the tensor's device, in its dtype. */
export const uniformFor = (x: Tensor, shape: Shape): Tensor =>
  deviceGuard(x.device, () => rand(shape, { dtype: x.dtype }));

/** Draws standard normal numbers on the tensor's device, in its dtype. */
export const normalFor = (x: Tensor, shape: Shape): Tensor =>
  deviceGuard(x.device, () => randn(shape, { dtype: x.dtype }));

/** Sums the last `count` dimensions. */
export const sumLast = (x: Tensor, count: number): Tensor =>
  count === 0
    ? x
    : sum(
        x,
        Array.from({ length: count }, (_, i) => i - count),
      );

/** The spacing of numbers at 1, and the smallest positive normal number. */
const limits = {
  float64: [2 ** -52, 2 ** -1022],
  float32: [2 ** -23, 2 ** -126],
  float16: [2 ** -10, 2 ** -14],
  bfloat16: [2 ** -7, 2 ** -126],
} as const;

type Floating = keyof typeof limits;

const isFloating = (x: Tensor): boolean => x.dtype in limits;

export const epsilonOf = (x: Tensor): number => limits[x.dtype as Floating][0];
export const tiniestOf = (x: Tensor): number => limits[x.dtype as Floating][1];
