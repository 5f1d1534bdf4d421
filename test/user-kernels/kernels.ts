/** Kernels, and tensors to run them on: as a user writes them. */

import {
  arange,
  cat,
  full,
  gpuKernel,
  maximum,
  ones,
  type Shape,
  type Tensor,
  tensor,
  zeros,
} from '../../src/index.ts';

const half = 0.5;

export const product = gpuKernel(
  function product(a: number[][], b: number[][]) {
    let sum = 0;
    for (let k = 0; k < this.constants.n; k++) {
      sum += a[this.thread.y]![k]! * b[k]![this.thread.x]!;
    }
    return sum * half;
  },
  {
    shape: (a, b) => [a[0]!, b[1]!],
    constants: { n: 5 },
    gradient: (gradient, [a, b]) => [
      gradient.matmul(b.t()).mul(0.5),
      a.t().matmul(gradient).mul(0.5),
    ],
  },
);

/** Means of neighbours, unlike at the ends; `by` has no dimension. */
export const smooth = gpuKernel(
  function (x: number[], by: number) {
    const i = this.thread.x;
    if (i === 0) return x[0]! * by;
    let value = (x[i]! + x[i - 1]!) / 2;
    value = i === this.output.x - 1 ? -value : value;
    return value * by;
  },
  { shape: (x) => x, gradient: null, name: 'smooth' },
);

/** All three axes, whole numbers, and operands that are indexed by others. */
export const lookUp = gpuKernel(
  function (table: number[][][], rows: number[]) {
    const row = rows[this.thread.z]!;
    let largest = table[row]![this.thread.y]![this.thread.x]!;
    let k = 0;
    while (k < 3) {
      largest = Math.max(largest, table[k]![this.thread.y]![this.thread.x]! - 1);
      k++;
    }
    return largest;
  },
  {
    shape: (table: Shape, rows: Shape) => [rows[0]!, table[1]!, table[2]!],
    name: 'lookUp',
    gradient: null,
  },
);

export interface Sample {
  readonly run: (...operands: Tensor[]) => Tensor;
  readonly operands: () => Tensor[];
  /** The same with ops. */
  readonly expected: (...operands: Tensor[]) => Tensor;
}

const numbers = (...shape: number[]): Tensor =>
  arange(shape.reduce((a, b) => a * b, 1))
    .to('float32')
    .mul(0.37)
    .sin()
    .reshape(shape);

const products = (a: () => Tensor, b: () => Tensor): Sample => ({
  run: (x, y) => product(x!, y!),
  operands: () => [a(), b()],
  expected: (x, y) => x!.matmul(y!).mul(0.5),
});

export const samples: Readonly<Record<string, Sample>> = {
  'a product': products(
    () => numbers(3, 5),
    () => numbers(5, 4),
  ),
  'a product of strided operands': products(
    () => numbers(5, 7).t().narrow(0, 2, 3),
    () => numbers(5, 8).narrow(1, 2, 6),
  ),
  'a product of expanded operands': products(
    () => numbers(1, 5).expand([300, 5]),
    () => ones([5, 2]),
  ),
  'a product of no rows': products(
    () => zeros([0, 5]),
    () => numbers(5, 4),
  ),
  neighbours: {
    run: (x, by) => smooth(x!, by!),
    operands: () => [numbers(9), full([], 3)],
    expected: (x, by) => {
      const means = x!
        .narrow(0, 1, 8)
        .add(x!.narrow(0, 0, 8))
        .div(2);
      const signs = tensor([1, 1, 1, 1, 1, 1, 1, -1]);
      const rest = means.mul(signs.to(x!.device));
      return cat([x!.narrow(0, 0, 1), rest]).mul(by!);
    },
  },
  'rows of a table': {
    run: (table, rows) => lookUp(table!, rows!),
    operands: () => [numbers(3, 4, 2), tensor([2, 0, 0, 1, 2], { dtype: 'int32' })],
    expected: (table, rows) => {
      const others = table!.amax(0).sub(1);
      return maximum(table!.indexSelect(0, rows!), others);
    },
  },
};
