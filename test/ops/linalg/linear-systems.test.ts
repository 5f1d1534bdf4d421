import { describe, expect, it } from 'vitest';
import { grad } from '../../../runtime/backward/grad.ts';
import { TostaticError } from '../../../runtime/errors/errors.ts';
import { tidy } from '../../../runtime/tensor/lifetime.ts';
import * as ours from '../../../src/index.ts';
import { slogdet, solve, solveTriangular, toStatic } from '../../../src/index.ts';
import { expectSameAsEager } from '../../trace/same-as-eager.ts';
import { cofactor, determinant } from '../cases/forward-matrices.ts';
import { allocated, expectClose, spread, type Tensor, tensor } from '../eager.ts';

const dtypes = ['float32', 'float64'] as const;
type Real = (typeof dtypes)[number];

const tolerances = {
  float32: { relative: 1e-5, absolute: 1e-5 },
  float64: { relative: 1e-11, absolute: 1e-11 },
} as const;

const random = (shape: number[], dtype: Real, salt = 0) =>
  tensor(Float64Array.from(spread(shape, salt)), { shape, dtype });

const expectEqual = (actual: Tensor, expected: Tensor, dtype: Real, what: string) => {
  expect([actual.dtype, actual.shape]).toEqual([dtype, expected.shape]);
  expectClose(actual.dataSync(), expected.dataSync(), what, tolerances[dtype]);
};

/** A test that gives back all it takes. */
function check(name: string, body: () => void): void {
  it(name, () => {
    const before = allocated();
    tidy(body);
    expect(allocated()).toBe(before);
  });
}

const definite = (n: number, dtype: Real) => {
  const x = random([2, n, n], dtype);
  return x.matmul(x.mT).add(ours.eye(n, n, { dtype }));
};

describe.each(dtypes)('larger matrices satisfy what defines them, in %s', (dtype) => {
  const n = 12;
  const matrices = () => random([2, n, n], dtype);
  const identity = () => ours.eye(n, n, { dtype }).expand([2, n, n]);

  check('inverse: x·x⁻¹ = 1', () => {
    const x = matrices();
    // Its product is in the dtype: the error grows with the inverse's size.
    const product = x.matmul(x.inverse());
    expectClose(product.dataSync(), identity().dataSync(), 'product', {
      absolute: tolerances[dtype].absolute * 10,
    });
  });

  check('solve: a·x = b; a vector, one per matrix, from the right, broadcast', () => {
    const a = matrices().add(identity().mul(3));
    const x = random([2, n, 3], dtype, 1);
    expectEqual(ours.solve(a, a.matmul(x)), x, dtype, 'matrices');
    const one = x.select(2, 0);
    const products = a.matmul(one.unsqueeze(-1)).squeeze(-1);
    expectEqual(ours.solve(a, products), one, dtype, 'a vector per matrix');
    const vector = one.select(0, 0);
    expectEqual(ours.solve(a.select(0, 0), products.select(0, 0)), vector, dtype, 'one vector');
    expectEqual(ours.solve(a, x.mT.matmul(a), { left: false }), x.mT, dtype, 'from the right');
    const other = a.select(0, 1);
    expectEqual(ours.solve(other, other.matmul(x)), x, dtype, 'one matrix for all');
  });

  check('solveTriangular and triangularSolve read one triangle', () => {
    const a = matrices().add(identity().mul(4));
    const b = random([2, n, 3], dtype, 1);
    for (const upper of [true, false]) {
      const part = upper ? a.triu() : a.tril();
      const x = ours.solveTriangular(a, b, { upper });
      expectEqual(part.matmul(x), b, dtype, `upper ${upper}`);
      const right = ours.solveTriangular(a, b.mT, { upper, left: false });
      expectEqual(right.matmul(part), b.mT, dtype, `upper ${upper}, from the right`);
      const flipped = b.triangularSolve(a, { upper, transpose: true });
      expectEqual(part.mT.matmul(flipped), b, dtype, `upper ${upper}, transposed`);
      expectEqual(b.triangularSolve(a, { upper }), x, dtype, 'as a method');
    }
  });

  check('cholesky: L·Lᵀ = x, and only the lower triangle is read', () => {
    const x = definite(n, dtype);
    const lower = x.cholesky();
    expectEqual(lower.matmul(lower.mT), x, dtype, 'product');
    expectEqual(lower.tril(), lower, dtype, 'triangle');
    expectEqual(x.cholesky({ upper: true }), lower.mT, dtype, 'upper');
    expectEqual(x.tril().cholesky(), lower, dtype, 'of the lower triangle');
  });

  check('slogdet goes where det overflows; signs and logarithms multiply out to det', () => {
    const small = random([2, 4, 4], dtype, 3);
    const [sign, logarithm] = small.slogdet();
    expectEqual(sign.mul(logarithm.exp()), small.det(), dtype, 'det');
    expectClose(small.logdet().dataSync(), small.det().log().dataSync(), 'logdet');
    const [large, of] = ours.slogdet(ours.eye(400, 400, { dtype }).mul(-10));
    expect(large.itemSync()).toBe(1);
    expectClose([of.itemSync()], [400 * Math.log(10)], 'ln 10^400');
  });
});

/** The textbook's loops: one subtraction at a time, in ascending order. */
function eliminated(a: Float64Array, b: Float64Array, n: number): Float64Array {
  const [lu, x] = [a.slice(), b.slice()];
  const columns = b.length / n;
  const exchange = (m: Float64Array, width: number, i: number, k: number) => {
    const held = m.slice(i * width, (i + 1) * width);
    m.copyWithin(i * width, k * width, (k + 1) * width);
    m.set(held, k * width);
  };
  const subtract = (
    m: Float64Array,
    width: number,
    i: number,
    k: number,
    factor: number,
    from = 0,
  ) => {
    if (factor === 0) return;
    for (let j = from; j < width; j++) m[i * width + j]! -= factor * m[k * width + j]!;
  };
  for (let k = 0; k < n; k++) {
    let best = k;
    for (let i = k + 1; i < n; i++) {
      if (Math.abs(lu[i * n + k]!) > Math.abs(lu[best * n + k]!)) best = i;
    }
    exchange(lu, n, k, best);
    exchange(x, columns, k, best);
    for (let i = k + 1; i < n; i++) {
      lu[i * n + k]! /= lu[k * n + k]!;
      subtract(lu, n, i, k, lu[i * n + k]!, k + 1);
    }
  }
  for (let i = 1; i < n; i++)
    for (let k = 0; k < i; k++) subtract(x, columns, i, k, lu[i * n + k]!);
  for (let i = n - 1; i >= 0; i--) {
    for (let k = i + 1; k < n; k++) subtract(x, columns, i, k, lu[i * n + k]!);
    for (let j = 0; j < columns; j++) x[i * columns + j]! /= lu[i * n + i]!;
  }
  return x;
}

function choleskyFactor(x: ArrayLike<number>, n: number): Float64Array {
  const factor = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let rest = x[i * n + j]!;
      for (let k = 0; k < j; k++) rest -= factor[i * n + k]! * factor[j * n + k]!;
      factor[i * n + j] = i === j ? Math.sqrt(rest) : rest / factor[j * n + j]!;
    }
  }
  return factor;
}

describe('factors and solutions have the bits of one subtraction after the other', () => {
  it.each(Array.from({ length: 13 }, (_, i) => i + 2))('of %i rows', (n) => {
    tidy(() => {
      // Rounded, so that some multiples are 0.
      const whole = random([n, n], 'float64')
        .mul(3)
        .round()
        .add(ours.eye(n, n, { dtype: 'float64' }).mul(7));
      for (const a of [random([n, n], 'float64'), whole]) {
        for (const columns of [1, 3]) {
          const b = random([n, columns], 'float64', 1);
          const exact = eliminated(a.dataSync() as Float64Array, b.dataSync() as Float64Array, n);
          expect(ours.solve(a, b).dataSync()).toEqual(exact);
        }
        const square = a.matmul(a.mT).add(ours.eye(n, n, { dtype: 'float64' }));
        const exact = choleskyFactor(square.dataSync(), n);
        expect(ours.cholesky(square).dataSync()).toEqual(exact);
      }
    });
  });
});

describe('special matrices', () => {
  check('singular: det 0, sign 0, logarithm −∞', () => {
    const x = tensor([1, 2, 2, 4], { shape: [2, 2] });
    const [sign, logarithm] = ours.slogdet(x);
    expect([x.det(), sign, logarithm, x.logdet()].map((own) => own.itemSync())).toEqual([
      0,
      0,
      -Infinity,
      -Infinity,
    ]);
  });

  check('rows are exchanged where there is no pivot', () => {
    const x = tensor([0, 1, 0, 0, 0, 1, 1, 0, 0], { shape: [3, 3] });
    expect([...x.inverse().dataSync()]).toEqual([...x.mT.contiguous().dataSync()]);
    expect(x.det().itemSync()).toBe(1);
  });

  check('without elements: no matrices, no rows, no right sides', () => {
    expect(ours.zeros([0, 3, 3]).inverse().shape).toEqual([0, 3, 3]);
    expect(ours.zeros([2, 0, 0]).inverse().shape).toEqual([2, 0, 0]);
    expect([...ours.zeros([2, 0, 0]).det().dataSync()]).toEqual([1, 1]);
    expect(ours.solve(ours.eye(3), ours.zeros([3, 0])).shape).toEqual([3, 0]);
    expect(ours.zeros([0, 0]).cholesky().shape).toEqual([0, 0]);
    const x = tensor([], { shape: [2, 0, 0], requiresGrad: true });
    expect(grad(x.det().sum(), [x])[0]!.shape).toEqual([2, 0, 0]);
  });

  check('the type of a result says its dtype', () => {
    const whole = tensor(Int32Array.of(2, 0, 0, 4), { shape: [2, 2] });
    const found: ours.Tensor<'float32'> = whole.inverse();
    const single: ours.Tensor<'float64'> = whole.double().det();
    expect([found.dtype, single.dtype]).toEqual(['float32', 'float64']);
  });

  check('NaN goes through, integers become float32, halves keep their dtype', () => {
    const nan = tensor([0, 1, Number.NaN, 1], { shape: [2, 2] });
    expect(nan.det().itemSync()).toBeNaN();
    const whole = tensor(Int32Array.of(2, 0, 0, 4), { shape: [2, 2] });
    const found = whole.inverse();
    expect([found.dtype, ...found.dataSync()]).toEqual(['float32', 0.5, 0, 0, 0.25]);
    const half = ours.solve(whole.half(), tensor([2, 2]).half());
    expect([half.dtype, ...half.float().dataSync()]).toEqual(['float16', 1, 0.5]);
  });
});

describe('the gradient of the determinant of a singular matrix', () => {
  const rows = {
    'of rank 2': [
      [1, 2, 3],
      [4, 5, 6],
      [5, 7, 9],
    ],
    'of rank 1': [
      [1, 2, 3],
      [2, 4, 6],
      [3, 6, 9],
    ],
    zero: [
      [0, 0, 0],
      [0, 0, 0],
      [0, 0, 0],
    ],
  };
  for (const [name, matrix] of Object.entries(rows)) {
    check(`${name}: its minors`, () => {
      const x = tensor(Float64Array.from(matrix.flat()), { shape: [3, 3], requiresGrad: true });
      const [found] = grad(x.det(), [x]);
      const expected = matrix.flatMap((row, i) => row.map((_, j) => cofactor(matrix, i, j)));
      expectClose(found!.dataSync(), expected, 'gradient', { absolute: 1e-12 });
      expect(determinant(matrix)).toBe(0);
    });
  }

  check('has no gradient again: an error by name', () => {
    const x = tensor([1, 2, 2, 4], { shape: [2, 2], requiresGrad: true });
    const [first] = grad(x.det(), [x], { createGraph: true });
    expect(() => grad(first!.sum(), [x])).toThrow('inverse: a matrix is singular');
  });
});

const f = (...shape: number[]) => ours.zeros(shape);
const flat = (values: number[], ...shape: number[]) => tensor(values, { shape });
const indefinite = () => flat([1, 2, 2, 1], 2, 2);
/** The second of two is singular. */
const mixed = () => flat([1, 0, 0, 1, 1, 2, 2, 4], 2, 2, 2);

const mistakes: Readonly<Record<string, readonly [run: () => unknown, what: string]>> = {
  'inverse of a vector': [() => f(3).inverse(), 'ShapeError: inverse: not square matrices'],
  'inverse of a wide matrix': [() => f(2, 3).inverse(), 'ShapeError: inverse: not square'],
  'inverse of a singular matrix': [
    () => mixed().inverse(),
    'ArgumentError: inverse: a matrix is singular\n  given:    f32[2,2,2]; matrix 1 of 2',
  ],
  'inverse of an array': [() => ours.inverse([[1]] as never), 'ArgumentError: inverse'],
  'solve of a wide matrix': [() => ours.solve(f(2, 3), f(2, 1)), 'ShapeError: solve: not square'],
  'solve of a scalar': [() => ours.solve(f(2, 2), f()), 'ShapeError: solve'],
  'solve of other rows': [() => ours.solve(f(2, 2), f(3, 1)), 'ShapeError: solve: the right'],
  'solve of other batches': [() => ours.solve(f(2, 2, 2), f(3, 2, 1)), 'ShapeError: solve'],
  'solve of vectors from the right': [
    () => ours.solve(ours.eye(2), f(2), { left: false }),
    'ShapeError: solve: vectors from the right',
  ],
  'solve of a number': [() => ours.solve(f(2, 2), 1 as never), 'ArgumentError: solve'],
  'solve of a singular matrix': [
    () => ours.solve(mixed(), f(2, 2, 1)),
    'ArgumentError: solve: a matrix is singular',
  ],
  'solveTriangular of a wide matrix': [
    () => ours.solveTriangular(f(2, 3), f(2, 1), { upper: true }),
    'ShapeError: solveTriangular',
  ],
  'solveTriangular with 0 on the diagonal': [
    () => ours.solveTriangular(f(2, 2), f(2, 1), { upper: true }),
    'ArgumentError: solveTriangular: a matrix is singular',
  ],
  'det of a vector': [() => f(3).det(), 'ShapeError: det'],
  'slogdet of a wide matrix': [() => f(2, 3).slogdet(), 'ShapeError: slogdet'],
  'cholesky of a wide matrix': [() => f(2, 3).cholesky(), 'ShapeError: cholesky'],
  'cholesky of an indefinite matrix': [
    () => indefinite().cholesky(),
    'ArgumentError: cholesky: a matrix is not positive definite',
  ],
  'cholesky of NaN': [() => flat([Number.NaN], 1, 1).cholesky(), 'ArgumentError: cholesky'],
};

describe('a violated constraint is a named error; nothing stays allocated', () => {
  for (const [name, [run, what]] of Object.entries(mistakes)) {
    check(name, () => {
      let message = 'no error';
      const before = allocated();
      try {
        tidy(run as () => Tensor);
      } catch (error) {
        expect(error).toBeInstanceOf(TostaticError);
        message = `${(error as TostaticError).name}: ${(error as TostaticError).message}`;
        expect((error as TostaticError).remedy).not.toBe('');
      }
      expect(message.startsWith(what), `${message}\n  expected: ${what}`).toBe(true);
      expect(allocated()).toBe(before);
    });
  }
});

describe('captured, with gradients, as eager', () => {
  const leaf = (shape: number[], salt: number) => () =>
    tensor(spread(shape, salt), { shape, requiresGrad: true });
  const functions: Readonly<Record<string, (x: Tensor, b: Tensor) => Tensor>> = {
    'inverse and det': (x, b) => x.inverse().matmul(b).mul(x.det()),
    solve: (x, b) => solve(x, b).add(solve(x, b.T, { left: false }).T),
    'cholesky and triangular systems': (x, b) => {
      const lower = x.matmul(x.mT).cholesky();
      return solveTriangular(lower, b, { upper: false }).add(b.triangularSolve(x));
    },
    'slogdet and logdet': (x) => {
      const [sign, logarithm] = slogdet(x);
      return sign.mul(logarithm).add(x.matmul(x.mT).logdet());
    },
  };
  for (const [name, fn] of Object.entries(functions)) {
    it(name, () => {
      const { graphs, breaks } = expectSameAsEager(() => ({
        fn,
        args: () => [leaf([3, 3], 1)(), leaf([3, 2], 2)()],
      }));
      expect([graphs, breaks]).toEqual([1, 0]);
    });
  }

  check('a singular matrix throws what it throws in eager', () => {
    const fn = toStatic((x: Tensor) => x.mul(2).inverse().sum());
    const good = tensor([1, 0, 0, 1], { shape: [2, 2] });
    const bad = tensor([1, 2, 2, 4], { shape: [2, 2] });
    expect(fn(good).itemSync()).toBe(1);
    const before = allocated();
    expect(() => tidy(() => fn(bad))).toThrow('inverse: a matrix is singular');
    expect(allocated()).toBe(before);
    expect(fn(good).itemSync()).toBe(1);
  });

  check('also where nobody reads the inverse', () => {
    const fn = toStatic((x: Tensor) => {
      x.inverse();
      return x.sum();
    });
    const good = tensor([1, 0, 0, 1], { shape: [2, 2] });
    expect([fn(good), fn(good)].map((own) => own.itemSync())).toEqual([2, 2]);
    const bad = tensor([1, 2, 2, 4], { shape: [2, 2] });
    const before = allocated();
    tidy(() => fn(good).dispose());
    expect(allocated()).toBe(before);
    expect(() => tidy(() => fn(bad))).toThrow('inverse: a matrix is singular');
    expect(allocated()).toBe(before);
    expect(fn(good).itemSync()).toBe(2);
  });
});
