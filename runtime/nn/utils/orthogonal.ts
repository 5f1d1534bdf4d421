import { noGrad } from '../../autograd/grad-mode.ts';
import { deviceGuard } from '../../device/current.ts';
import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { tril } from '../../ops/arranging/triangles.ts';
import { expand } from '../../ops/core/broadcast.ts';
import { cast } from '../../ops/core/cast.ts';
import { solve } from '../../ops/linalg/linear-systems.ts';
import { matrixExp } from '../../ops/linalg/matrix-exponential.ts';
import { qr } from '../../ops/linalg/orthogonal-factors.ts';
import { zeros } from '../../ops/movement/create.ts';
import { cat } from '../../ops/movement/joining.ts';
import { contiguous, narrow, transpose, unsqueeze } from '../../ops/movement/movement.ts';
import { eye } from '../../ops/movement/ranges.ts';
import { diagonal } from '../../ops/movement/views.ts';
import { add, lt, mul, neg, sub, where } from '../../ops/pointwise/pointwise.ts';
import { matmul } from '../../ops/products/matmul.ts';
import { randn } from '../../ops/random/drawn.ts';
import { expectOptions, type OptionKinds } from '../../options/expect-options.ts';
import { flag, oneOf } from '../../options/option-kinds.ts';
import { tidy } from '../../tensor/lifetime.ts';
import { Tensor } from '../../tensor/tensor.ts';
import { Module } from '../module/module.ts';
import { buffer } from '../module/parameter.ts';
import { isParametrized, registerParametrization } from './parametrize.ts';
import { ownerOf } from './weight-owner.ts';

const maps = ['matrixExp', 'cayley'] as const;

export interface OrthogonalOptions {
  /** How a skew-symmetric matrix becomes an orthogonal one; `matrixExp` by default. */
  readonly orthogonalMap?: (typeof maps)[number];
  /**
   * Whether the orthogonal matrix is a product with the buffer `base`, so that registration changes an orthogonal
   * weight by rounding errors alone; true by default.
   */
  readonly useTrivialization?: boolean;
}

const orthogonalKinds: OptionKinds<OrthogonalOptions> = {
  orthogonalMap: oneOf(...maps),
  useTrivialization: flag,
};

const mT = (x: Tensor): Tensor => transpose(x, -1, -2);

/** Runs `body` for the matrix if it is tall, else for its transpose. */
function tall(x: Tensor, body: (matrix: Tensor) => Tensor): Tensor {
  return x.shape.at(-2)! < x.shape.at(-1)! ? mT(body(mT(x))) : body(x);
}

const identity = ({ dtype, device }: Tensor, n: number, k = n): Tensor =>
  eye(n, k, { dtype, device });

/** Widens [.., n, k] to square matrices by the columns [.., n, n − k] of another tensor. */
function squared(x: Tensor, columns: (shape: readonly number[]) => Tensor): Tensor {
  const [n, k] = x.shape.slice(-2) as [number, number];
  if (n === k) return x;
  const shape = [...x.shape.slice(0, -1), n - k];
  return cat([x, deviceGuard(x.device, () => columns(shape))], -1);
}

/** Computes matrices with orthonormal columns, or rows if there are fewer. */
class Orthogonal extends Module {
  readonly orthogonalMap: (typeof maps)[number];
  base: Tensor | null = null;

  constructor(orthogonalMap: (typeof maps)[number], ...surplus: []) {
    super(...surplus);
    this.orthogonalMap = orthogonalMap;
  }

  override forward(original: Tensor): Tensor {
    return tidy(() =>
      tall(original, (x) => {
        const lower = squared(tril(x), (shape) => zeros(shape, { dtype: x.dtype }));
        const square = this.mapped(sub(lower, mT(lower)));
        const k = x.shape.at(-1)!;
        const columns = square.shape.at(-1) === k ? square : narrow(square, -1, 0, k);
        return this.base ? matmul(this.base, columns) : columns;
      }),
    );
  }

  /** Returns an orthogonal matrix for a skew-symmetric one. */
  protected mapped(skew: Tensor): Tensor {
    if (this.orthogonalMap === 'matrixExp') return matrixExp(skew);
    const [one, half] = [identity(skew, skew.shape.at(-1)!), mul(skew, 0.5)];
    return solve(sub(one, half), add(one, half));
  }
}

/** Also multiplies by an orthogonal matrix that was made of the weight. */
class BasedOrthogonal extends Orthogonal {
  /** Makes `base` of the weight's columns; the original of the weight is then skew-symmetric: 0. */
  rightInverse(value: Tensor): Tensor {
    const start = (x: Tensor): Tensor => {
      const [q, r] = qr(squared(x, (shape) => randn(shape, { dtype: x.dtype })));
      // The signs of R make Q the columns of the weight if those are orthonormal; of dependent ones, some are 0.
      const signs = cast(where(lt(diagonal(r, 0, -2, -1), 0), -1, 1), x.dtype);
      this.base = buffer(contiguous(mul(q, unsqueeze(signs, -2))));
      return neg(expand(identity(x, ...(x.shape.slice(-2) as [number, number])), x.shape));
    };
    return noGrad(() => tidy(() => tall(value, start)));
  }
}

/**
 * Keeps a parameter's matrices orthogonal: with orthonormal columns, or rows if there are fewer (Lezcano-Casado, 2019).
 * The parameter becomes `parametrizations.weight.original`. Returns the module.
 */
export function orthogonal<M extends Module>(
  owner: M,
  path = 'weight',
  options: OrthogonalOptions = {},
): M {
  expectOptions('orthogonal', options, orthogonalKinds);
  const { orthogonalMap = 'matrixExp', useTrivialization = true } = options;
  const [module, name] = ownerOf(owner, path);
  const weight: unknown = (module as unknown as Record<string, unknown>)?.[name];
  if (weight instanceof Tensor && weight.rank < 2) {
    throw new ShapeError({
      what: 'orthogonal: not matrices',
      given: formatSpec(weight),
      expected: '[.., rows, columns]',
      remedy: 'pass the name of a weight with two dimensions or more',
    });
  }
  if (weight && useTrivialization && isParametrized(module, name)) {
    throw new ArgumentError({
      what: 'orthogonal: a weight that is computed already',
      given: `a parametrization of ${path}`,
      expected: 'a weight without one, from which `base` is made',
      remedy: 'register orthogonal() first, or pass useTrivialization: false',
    });
  }
  const parametrization = useTrivialization
    ? new BasedOrthogonal(orthogonalMap)
    : new Orthogonal(orthogonalMap);
  return registerParametrization(owner, path, parametrization);
}
