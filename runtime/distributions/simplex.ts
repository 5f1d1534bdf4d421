/** Distributions of shares: numbers from 0 to 1 that sum to 1. */

import { deviceGuard } from '../device/current.ts';
import { expand } from '../ops/core/broadcast.ts';
import { cast } from '../ops/core/cast.ts';
import { arange } from '../ops/movement/ranges.ts';
import {
  add,
  clamp,
  clampMin,
  digamma,
  div,
  eq,
  lgamma,
  logicalAnd,
  lt,
  mul,
  neg,
  type Operand,
  rsub,
  square,
  sub,
  where,
  xlogy,
} from '../ops/pointwise/pointwise.ts';
import { sum } from '../ops/reduce/reduce.ts';
import { all } from '../ops/reduce/statistics.ts';
import { expectArguments, wrongValue } from '../options/expect-options.ts';
import { isTensor } from '../options/is-tensor.ts';
import { positive, that } from '../options/option-kinds.ts';
import type { Shape } from '../spec/shape.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import {
  Distribution,
  epsilonOf,
  expectFloating,
  parameter,
  parametersOf,
  tiniestOf,
} from './distribution.ts';
import { drawGamma } from './rejection.ts';

const betaKinds = { concentration1: parameter(positive), concentration0: parameter(positive) };

/** The beta distribution of a share. */
export class Beta extends Distribution {
  readonly concentration1: Tensor;
  readonly concentration0: Tensor;

  constructor(concentration1: Operand, concentration0: Operand, ...surplus: []) {
    const [a, b] = tidy(() => parametersOf('Beta', { concentration1, concentration0 }, betaKinds));
    super(a!.shape, [], ...surplus);
    this.concentration1 = a!;
    this.concentration0 = b!;
  }

  override get mean(): Tensor {
    return tidy(() => div(this.concentration1, add(this.concentration1, this.concentration0)));
  }

  /** 1 if both concentrations are below 1, where both ends are modes. */
  override get mode(): Tensor {
    const [a, b] = [this.concentration1, this.concentration0];
    return tidy(() => {
      const [up, down] = [clampMin(sub(a, 1), 0), clampMin(sub(b, 1), 0)];
      return where(logicalAnd(lt(a, 1), lt(b, 1)), 1, div(up, add(up, down)));
    });
  }

  override get variance(): Tensor {
    const [a, b] = [this.concentration1, this.concentration0];
    return tidy(() => {
      const total = add(a, b);
      return div(mul(a, b), mul(square(total), add(total, 1)));
    });
  }

  override logProb(value: Tensor): Tensor {
    const [a, b] = [this.concentration1, this.concentration0];
    return tidy(() => {
      const powers = add(xlogy(sub(a, 1), value), xlogy(sub(b, 1), rsub(value, 1)));
      return sub(powers, logBeta(a, b));
    });
  }

  override entropy(): Tensor {
    const [a, b] = [this.concentration1, this.concentration0];
    return tidy(() => {
      const total = add(a, b);
      const parts = add(mul(sub(a, 1), digamma(a)), mul(sub(b, 1), digamma(b)));
      return add(sub(logBeta(a, b), parts), mul(sub(total, 2), digamma(total)));
    });
  }

  override expand(batchShape: Shape): Beta {
    return new Beta(
      expand(this.concentration1, batchShape),
      expand(this.concentration0, batchShape),
    );
  }

  override divergenceTo(other: Distribution): Tensor | null {
    if (!(other instanceof Beta)) return null;
    const [a, b] = [this.concentration1, this.concentration0];
    const [c, d] = [other.concentration1, other.concentration0];
    return tidy(() => {
      const first = mul(sub(a, c), digamma(a));
      const second = mul(sub(b, d), digamma(b));
      const total = mul(sub(add(c, d), add(a, b)), digamma(add(a, b)));
      return add(add(add(sub(logBeta(c, d), logBeta(a, b)), first), second), total);
    });
  }

  protected override draw(shape: Shape): Tensor {
    const extended = this.extended(shape);
    const up = drawGamma(this.concentration1, extended);
    const share = div(up, add(up, drawGamma(this.concentration0, extended)));
    return clamp(share, tiniestOf(share), 1 - epsilonOf(share) / 2);
  }
}

const logBeta = (a: Tensor, b: Tensor): Tensor => sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)));

const dirichletKinds = { concentration: that('a tensor [...batch, classes]', isTensor) };

/** The Dirichlet distribution of shares that sum to 1 along the last dimension. */
export class Dirichlet extends Distribution {
  readonly concentration: Tensor;

  constructor(concentration: Tensor, ...surplus: []) {
    expectArguments('Dirichlet', { concentration }, dirichletKinds);
    const checked = expectFloating('Dirichlet', concentration);
    // Kinds test only types: while tracing, they get tensors without a shape.
    if (checked.rank === 0) {
      throw wrongValue(
        'Dirichlet',
        'concentration',
        concentration,
        dirichletKinds.concentration.expected,
      );
    }
    super(checked.shape.slice(0, -1), checked.shape.slice(-1), ...surplus);
    this.concentration = checked;
  }

  override get mean(): Tensor {
    return tidy(() => div(this.concentration, totalOf(this.concentration)));
  }

  /** The first class alone if all concentrations are below 1, where each corner is a mode. */
  override get mode(): Tensor {
    const { concentration } = this;
    return tidy(() => {
      const more = clampMin(sub(concentration, 1), 0);
      const isSmall = all(lt(concentration, 1), -1, { keepDim: true });
      const places = deviceGuard(more.device, () => arange(concentration.shape.at(-1)!));
      const corner = cast(eq(places, 0), more.dtype);
      return where(isSmall, corner, div(more, totalOf(more)));
    });
  }

  override get variance(): Tensor {
    const { concentration } = this;
    return tidy(() => {
      const total = totalOf(concentration);
      const above = mul(concentration, sub(total, concentration));
      return div(above, mul(square(total), add(total, 1)));
    });
  }

  override logProb(value: Tensor): Tensor {
    const { concentration } = this;
    return tidy(() =>
      add(sum(xlogy(sub(concentration, 1), value), -1), neg(normalizer(concentration))),
    );
  }

  override entropy(): Tensor {
    const { concentration } = this;
    return tidy(() => {
      const total = sum(concentration, -1);
      const parts = sum(mul(sub(concentration, 1), digamma(concentration)), -1);
      const rest = mul(sub(total, this.eventShape[0]!), digamma(total));
      return sub(add(normalizer(concentration), rest), parts);
    });
  }

  override expand(batchShape: Shape): Dirichlet {
    return new Dirichlet(expand(this.concentration, [...batchShape, ...this.eventShape]));
  }

  override divergenceTo(other: Distribution): Tensor | null {
    if (!(other instanceof Dirichlet)) return null;
    const [p, q] = [this.concentration, other.concentration];
    return tidy(() => {
      const slopes = sub(digamma(p), digamma(totalOf(p)));
      return add(sub(normalizer(q), normalizer(p)), sum(mul(sub(p, q), slopes), -1));
    });
  }

  protected override draw(shape: Shape): Tensor {
    const drawn = drawGamma(this.concentration, this.extended(shape));
    return div(drawn, totalOf(drawn));
  }
}

const totalOf = (x: Tensor): Tensor => sum(x, -1, { keepDim: true });

/** Returns the logarithm of the multivariate beta function. */
const normalizer = (x: Tensor): Tensor => sub(sum(lgamma(x), -1), lgamma(sum(x, -1)));
