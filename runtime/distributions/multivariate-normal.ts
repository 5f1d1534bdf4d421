import { deviceGuard } from '../device/current.ts';
import { formatSpec } from '../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { flip } from '../ops/arranging/rearrange.ts';
import { expand } from '../ops/core/broadcast.ts';
import { cholesky, solveTriangular } from '../ops/linalg/exports.ts';
import { broadcastTensors } from '../ops/movement/exports.ts';
import { select, squeeze, transpose, unsqueeze } from '../ops/movement/movement.ts';
import { eye } from '../ops/movement/ranges.ts';
import { diagonal } from '../ops/movement/views.ts';
import { add, log, mul, square, sub } from '../ops/pointwise/pointwise.ts';
import { matmul } from '../ops/products/matmul.ts';
import { sum } from '../ops/reduce/reduce.ts';
import { expectArguments, expectOptions } from '../options/expect-options.ts';
import { aTensor } from '../options/option-kinds.ts';
import type { Shape } from '../spec/shape.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Distribution, expectFloating, normalFor } from './distribution.ts';

/** One of three matrices [...batch, n, n]. */
export interface Covariance {
  readonly covarianceMatrix?: Tensor;
  /** The inverse of the covariance matrix. */
  readonly precisionMatrix?: Tensor;
  /** The lower triangular Cholesky factor of the covariance matrix. */
  readonly scaleTril?: Tensor;
}

const kinds = { covarianceMatrix: aTensor, precisionMatrix: aTensor, scaleTril: aTensor };

/** The normal distribution of vectors. */
export class MultivariateNormal extends Distribution {
  readonly loc: Tensor;
  readonly scaleTril: Tensor;

  constructor(loc: Tensor, covariance: Covariance, ...surplus: []) {
    expectArguments('MultivariateNormal', { loc }, { loc: aTensor });
    expectOptions('MultivariateNormal', covariance, kinds);
    const [center, factor] = tidy(() => {
      expectFloating('MultivariateNormal', loc);
      const factor = factorOf(covariance);
      const n = loc.shape.at(-1);
      if (n === undefined || factor.shape.at(-1) !== n || factor.shape.at(-2) !== n) {
        throw unfit(loc, factor);
      }
      // Both get the joint batch.
      const [columns] = broadcastTensors(loc, select(factor, -1, 0));
      const lead = columns!.shape;
      return [columns!, expand(factor, [...lead, n])] as const;
    });
    super(center.shape.slice(0, -1), center.shape.slice(-1), ...surplus);
    this.loc = center;
    this.scaleTril = factor;
  }

  get covarianceMatrix(): Tensor {
    return tidy(() => matmul(this.scaleTril, transpose(this.scaleTril, -1, -2)));
  }

  get precisionMatrix(): Tensor {
    return tidy(() => {
      const n = this.eventShape[0]!;
      const { dtype, device } = this.loc;
      const one = deviceGuard(device, () => eye(n, n, { dtype }));
      const inverse = solved(this.scaleTril, expand(one, this.scaleTril.shape));
      return matmul(transpose(inverse, -1, -2), inverse);
    });
  }

  override get mean(): Tensor {
    return this.loc;
  }

  override get mode(): Tensor {
    return this.loc;
  }

  override get variance(): Tensor {
    return tidy(() => sum(square(this.scaleTril), -1));
  }

  override logProb(value: Tensor): Tensor {
    return tidy(() => {
      const n = this.eventShape[0]!;
      const distance = mahalanobis(this.scaleTril, sub(value, this.loc));
      return sub(mul(add(distance, n * Math.log(2 * Math.PI)), -0.5), halfLogDet(this.scaleTril));
    });
  }

  override entropy(): Tensor {
    return tidy(() => {
      const constant = (this.eventShape[0]! * (1 + Math.log(2 * Math.PI))) / 2;
      return add(halfLogDet(this.scaleTril), constant);
    });
  }

  override expand(batchShape: Shape): MultivariateNormal {
    const n = this.eventShape[0]!;
    return new MultivariateNormal(expand(this.loc, [...batchShape, n]), {
      scaleTril: expand(this.scaleTril, [...batchShape, n, n]),
    });
  }

  override divergenceTo(other: Distribution): Tensor | null {
    if (!(other instanceof MultivariateNormal)) return null;
    return tidy(() => {
      const [p, q] = broadcastTensors(this.scaleTril, other.scaleTril) as [Tensor, Tensor];
      const logs = sub(halfLogDet(q), halfLogDet(p));
      const spread = sum(square(solved(q, p)), [-2, -1]);
      const distance = mahalanobis(other.scaleTril, sub(other.loc, this.loc));
      const squares = add(add(spread, distance), -this.eventShape[0]!);
      return add(logs, mul(squares, 0.5));
    });
  }

  protected override draw(shape: Shape): Tensor {
    const normal = unsqueeze(normalFor(this.loc, this.extended(shape)), -1);
    return add(this.loc, squeeze(matmul(this.scaleTril, normal), -1));
  }
}

/** Returns the Cholesky factor of the covariance. Throws ArgumentError for none, or for several matrices. */
function factorOf({ covarianceMatrix, precisionMatrix, scaleTril }: Covariance): Tensor {
  const matrices = [covarianceMatrix, precisionMatrix, scaleTril].filter(
    (matrix) => matrix !== undefined,
  );
  if (matrices.length !== 1) {
    throw new ArgumentError({
      what: 'MultivariateNormal: needs one matrix',
      given: `${matrices.length} of covarianceMatrix, precisionMatrix and scaleTril`,
      expected: 'one of them',
      remedy: 'new MultivariateNormal(loc, { covarianceMatrix })',
    });
  }
  const matrix = expectFloating('MultivariateNormal', matrices[0]!);
  if (matrix.rank < 2 || matrix.shape.at(-1) !== matrix.shape.at(-2)) throw unfit(matrix, matrix);
  if (scaleTril) return scaleTril;
  if (covarianceMatrix) return cholesky(covarianceMatrix);
  // The factor of the reversed matrix is the inverse's, reversed and transposed.
  const reversed = flip(cholesky(flip(matrix, [-2, -1])), [-2, -1]);
  const n = matrix.shape.at(-1)!;
  const one = deviceGuard(matrix.device, () => eye(n, n, { dtype: matrix.dtype }));
  return solved(transpose(reversed, -2, -1), expand(one, matrix.shape));
}

const unfit = (loc: Tensor, matrix: Tensor): ShapeError =>
  new ShapeError({
    what: "MultivariateNormal: mean and matrix don't fit",
    given: `${formatSpec(loc)} and ${formatSpec(matrix)}`,
    expected: '[...batch, n] and [...batch, n, n]',
    remedy: 'a vector of n numbers has n × n covariances',
  });

const solved = (factor: Tensor, b: Tensor): Tensor => solveTriangular(factor, b, { upper: false });

const halfLogDet = (factor: Tensor): Tensor => sum(log(diagonal(factor, 0, -2, -1)), -1);

/** Returns the squared distances x'·Σ⁻¹·x of vectors. */
function mahalanobis(factor: Tensor, x: Tensor): Tensor {
  const n = x.shape.at(-1)!;
  const [lead] = broadcastTensors(x, select(factor, -1, 0));
  const expanded = expand(x, lead!.shape);
  const root = solved(expand(factor, [...lead!.shape, n]), unsqueeze(expanded, -1));
  return sum(square(root), [-2, -1]);
}
