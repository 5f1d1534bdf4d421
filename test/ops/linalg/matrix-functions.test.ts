/** Factors by elimination and exponentials of matrices, as PyTorch computed them in float64. */

import { expect, it } from 'vitest';
import {
  eye,
  lu,
  luFactor,
  luSolve,
  matrixExp,
  stack,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../../src/index.ts';
import { allocated, expectClose } from '../eager.ts';

const double = (values: readonly (readonly number[])[]): Tensor =>
  tensor(values as number[][], { dtype: 'float64' });
const exact = { relative: 1e-12, absolute: 1e-12 };

const factors = {
  square: [
    [
      [1, -0.5, -0.75],
      [-3, 2.5, -1.5],
      [1.5, 1.25, -1],
    ],
    [
      [0, 0, 1],
      [1, 0, 0],
      [0, 1, 0],
    ],
    [
      [1, 0, 0],
      [-0.5, 1, 0],
      [-0.3333333333333333, 0.1333333333333333, 1],
    ],
    [
      [-3, 2.5, -1.5],
      [0, 2.5, -1.75],
      [0, 0, -1.0166666666666666],
    ],
  ],
  tall: [
    [
      [-2.5, 3.25],
      [1.75, -3.25],
      [-3, -0.25],
      [-2.25, 1.5],
    ],
    [
      [0, 1, 0, 0],
      [0, 0, 1, 0],
      [1, 0, 0, 0],
      [0, 0, 0, 1],
    ],
    [
      [1, 0],
      [0.8333333333333333, 1],
      [-0.5833333333333333, -0.9819277108433735],
      [0.75, 0.4879518072289156],
    ],
    [
      [-3, -0.25],
      [0, 3.4583333333333335],
    ],
  ],
  wide: [
    [
      [-0.5, 0, -1.25],
      [-0.25, -4, 1],
    ],
    [
      [1, 0],
      [0, 1],
    ],
    [
      [1, 0],
      [0.5, 1],
    ],
    [
      [-0.5, 0, -1.25],
      [0, -4, 1.625],
    ],
  ],
} as const;

it.each(Object.entries(factors))('lu of a %s matrix', (_name, [x, ...expected]) => {
  const before = allocated();
  tidy(() => {
    const found = lu(double(x));
    expected.forEach((own, i) => {
      const factor = double(own);
      expect(found[i]!.shape).toEqual(factor.shape);
      expectClose(found[i]!.dataSync(), factor.dataSync(), 'factor', exact);
    });
    const [p, l, u] = found;
    expectClose(p.matmul(l).matmul(u).dataSync(), double(x).dataSync(), 'product', exact);
  });
  expect(allocated()).toBe(before);
});

it('luSolve takes the factors of luFactor: batches broadcast, transposed and from the right', () => {
  const before = allocated();
  tidy(() => {
    const a = double([
      [0, 2, 1],
      [4, 1, -1],
      [2, -3, 5],
    ]);
    const batch = stack([a, a.mul(2).add(eye(3)), a.flip(0)]);
    const b = double([
      [1, 2],
      [3, -4],
      [5, 0.5],
    ]);
    const [factors, pivots] = luFactor(batch);
    expect(pivots.select(0, 0).tolist()).toEqual([2, 3, 3]);
    for (const left of [true, false]) {
      for (const adjoint of [true, false]) {
        const matrices = adjoint ? batch.mT : batch;
        const side = left ? b : b.t();
        const found = luSolve(factors, pivots, side, { left, adjoint });
        const product = left ? matrices.matmul(found) : found.matmul(matrices);
        expectClose(product.dataSync(), stack([side, side, side]).dataSync(), 'product', exact);
      }
    }
  });
  expect(allocated()).toBe(before);
});

it('luSolve rejects what are no factors', () => {
  tidy(() => {
    const [factors, pivots] = luFactor(double([[2]]));
    const b = double([[1]]);
    expect(() => luSolve(factors, pivots.sub(1), b)).toThrow('luSolve: a pivot is not a row');
    expect(() => luSolve(factors, pivots.float(), b)).toThrow("luSolve: the pivots don't fit");
    expect(() => luSolve(factors, pivots, double([[1], [2]]))).toThrow(/^luSolve: the right sides/);
    expect(() => luSolve(...luFactor(double([[0]])), b)).toThrow(/^luSolve: .*singular/);
  });
});

it('lu takes singular matrices, which have no gradient, and matrices without elements', () => {
  tidy(() => {
    const x = double([
      [1, 2],
      [2, 4],
    ]).requiresGrad_();
    const [p, l, u] = lu(x);
    expect([p, l, u].map((own) => own.tolist())).toEqual([
      [
        [0, 1],
        [1, 0],
      ],
      [
        [1, 0],
        [0.5, 1],
      ],
      [
        [2, 4],
        [0, 0],
      ],
    ]);
    expect(() => l.sum().backward()).toThrow(/^lu: .*singular/);
    expect(lu(tensor([], { shape: [2, 3, 0] })).map(({ shape }) => shape)).toEqual([
      [2, 3, 3],
      [2, 3, 0],
      [2, 0, 0],
    ]);
  });
});

it('matrixExp, with its gradient', () => {
  const before = allocated();
  tidy(() => {
    const x = double([
      [1, 2, 0.5],
      [0, -1, 3],
      [2, 0.25, -2],
    ]).requiresGrad_();
    const found = matrixExp(x);
    const expected = [
      ...[5.605844407000373, 3.7499973848780153, 3.235605721409405, 2.521350994494065],
      ...[1.8033188764037378, 1.7641773669979868, 2.857018907661365, 1.8279154435792087],
      1.6354849198200838,
    ];
    expectClose(found.dataSync(), expected, 'exponential', exact);
    found
      .mul(
        double([
          [0, 1, 2],
          [3, 4, 5],
          [6, 7, 8],
        ]),
      )
      .sum()
      .backward();
    const slopes = [
      ...[33.56321400961065, 25.192376444914157, 22.991280535574276, 29.18545342130248],
      ...[20.26441590762173, 18.780920566335183, 38.182675379684525, 24.473897922550428],
      23.013195144134777,
    ];
    expectClose(x.grad!.dataSync(), slopes, 'gradient', exact);
    const large = matrixExp(
      double([
        [100, -90],
        [90, -100],
      ]),
    );
    const scaled = large.div(1e18).dataSync();
    const rounded = { relative: 1e-9, absolute: 0 };
    expectClose(
      scaled,
      [14.0336915357923, -8.7961635720647, 8.7961635720647, -5.51333862435147],
      'a large matrix',
      rounded,
    );
    expect(
      matrixExp(
        tensor([
          [Number.NaN, 0],
          [0, 1],
        ]),
      )
        .isnan()
        .all()
        .itemSync(),
    ).toBe(1);
    expect(matrixExp(tensor([], { shape: [2, 0, 0] })).shape).toEqual([2, 0, 0]);
  });
  expect(allocated()).toBe(before);
});

it('captured, with gradients, as eager', () => {
  tidy(() => {
    const x = double([
      [1, 2, 0.5],
      [0, -1, 3],
      [2, 0.25, -2],
    ]).requiresGrad_();
    const run = () => {
      x.grad = null;
      const [p, l, u] = lu(x);
      const results = [p, l, u, matrixExp(x)];
      l.sum().add(u.square().sum()).add(results[3]!.sum()).backward();
      return [...results, x.grad!].map((own) => (own as Tensor).detach());
    };
    const values = (step: typeof run) => step().map((own) => own.tolist());
    expect(values(toStatic(run, { fullGraph: true }))).toEqual(values(run));
  });
});

it('exponentials beyond the largest number, and a pivot that is no number', () => {
  tidy(() => {
    const huge = [1e308, -1e308].map((value) => matrixExp(double([[value]])).itemSync());
    expect(huge).toEqual([Infinity, 0]);
    const [, , upper] = lu(double([[0], [7], [NaN], [0]]));
    expect(upper.itemSync()).toBeNaN();
  });
});
