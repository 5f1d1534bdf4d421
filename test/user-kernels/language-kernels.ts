/** Kernels that together use the whole language, with the functions that they were made of. */

import {
  type GpuKernelOptions,
  gpuKernel,
  type KernelThis,
  randn,
  type Tensor,
  tensor,
} from '../../src/index.ts';

type Row = readonly number[];
type Matrix = readonly Row[];
type This = KernelThis<{ readonly alpha: number; readonly inner: number; readonly radius: number }>;
type Plain = (this: KernelThis<object>, ...operands: readonly unknown[]) => number;

interface OwnKernel {
  (...operands: Tensor[]): Tensor;
  readonly plain: Plain;
  readonly constants: object;
}

function kernelOf(fn: (this: This, ...operands: never[]) => number, given: object): OwnKernel {
  const options = given as GpuKernelOptions;
  const call: unknown = gpuKernel(fn as unknown as Parameters<typeof gpuKernel>[0], options);
  const made = call as (...operands: Tensor[]) => Tensor;
  const { constants = {} } = options;
  return Object.assign(made, { plain: fn as unknown as Plain, constants });
}

const same = (a: Row) => a;

const scaledSum = kernelOf(
  function scaledSum(this: This, a: Row, b: Row) {
    return this.constants.alpha * a[this.thread.x]! + b[this.thread.x]!;
  },
  { shape: same, constants: { alpha: 2.5 }, gradient: (grad: Tensor) => [grad.mul(2.5), grad] },
);

const product = kernelOf(
  function product(this: This, a: Matrix, b: Matrix) {
    let sum = 0;
    for (let k = 0; k < this.constants.inner; k++) {
      sum += a[this.thread.y]![k]! * b[k]![this.thread.x]!;
    }
    return sum;
  },
  {
    shape: (a: Row, b: Row) => [a[0]!, b[1]!],
    constants: { inner: 3 },
    gradient: (grad: Tensor, [a, b]: Tensor[]) => [
      grad.matmul(b!.transpose(0, 1)),
      a!.transpose(0, 1).matmul(grad),
    ],
  },
);

/** Of the result itself. */
const sigmoid = kernelOf(
  function sigmoid(this: This, a: Matrix) {
    const x = a[this.thread.y]![this.thread.x]!;
    if (x >= 0) return 1 / (1 + Math.exp(-x));
    const e = Math.exp(x);
    return e / (1 + e);
  },
  {
    shape: same,
    gradient: (grad: Tensor, _operands: Tensor[], y: Tensor) => grad.mul(y).mul(y.neg().add(1)),
  },
);

/** Loops that are left early, and a kernel as a gradient. */
const smoothed: OwnKernel = kernelOf(
  function smoothed(this: This, a: Matrix) {
    let sum = 0;
    for (let dy = -this.constants.radius; dy <= this.constants.radius; dy++) {
      const y = this.thread.y + dy;
      if (y < 0) continue;
      if (y >= this.output.y) break;
      for (let dx = -this.constants.radius; dx <= this.constants.radius; dx++) {
        const x = this.thread.x + dx;
        if (x < 0 || x >= this.output.x) continue;
        sum += a[y]![x]!;
      }
    }
    return sum;
  },
  // Symmetric, so that it is its own adjoint.
  { shape: same, constants: { radius: 1 }, gradient: (grad: Tensor) => smoothed(grad) },
);

/** A return inside of loops inside of loops; an index outside; a scalar; three axes. */
const firstAbove = kernelOf(
  function firstAbove(this: This, a: Matrix, limit: number) {
    const { x, y, z } = this.thread;
    let k = x;
    do {
      for (let j = y; j < 4; j++) {
        if (a[j]![k]! > limit && !(z === 1 && j === 3)) return j * 10 + k + 0.5;
      }
      k++;
    } while (k < 5);
    return z > 0 ? a[y]![x + 3]! : -1;
  },
  { shape: [2, 4, 5] },
);

const functions = kernelOf(
  function functions(this: This, a: Row) {
    const x = a[this.thread.x]!;
    const whole = Math.floor(x) + Math.ceil(x) + Math.trunc(x) + Math.round(x) + Math.sign(x);
    const smooth = Math.sin(x) + Math.cos(x) + Math.tanh(x) + Math.tan(x * 0.1) + Math.log2(x * x);
    const size = Math.sqrt(Math.abs(x)) + Math.log(Math.abs(x)) + Math.abs(x) ** 1.5;
    const more =
      Math.sinh(x) +
      Math.cosh(x) +
      Math.log10(x * x) +
      Math.log1p(x * x * 1e-6) +
      Math.expm1(x * 1e-4);
    return (
      whole +
      smooth +
      size +
      more +
      x ** 3 +
      (x % 0.7) +
      Math.max(x, 0.2, -x) +
      Math.min(x, Math.PI)
    );
  },
  { shape: same },
);

/** NaN, infinities, zeros and halves: one function per row. */
const specialValues = kernelOf(
  function specialValues(this: This, a: Row) {
    const x = a[this.thread.x]!;
    const f = this.thread.y;
    if (f === 0) return x ** 3 + x ** -2;
    if (f === 1) return Math.log(x);
    if (f === 2) return Math.exp(x * 100);
    if (f === 3) return Math.round(x);
    if (f === 4) return Math.max(x, 1);
    if (f === 5) return Math.tanh(x * 100) + Math.sign(x);
    if (f === 6) return Math.log1p(x * 1e-7) * 1e7;
    if (f === 7) return !(x >= 0) && !(x < 0) ? 7 : x % 1;
    if (f === 8) return x ? 1 : 0;
    return x > 0 || !(x < 1) ? Math.sqrt(x) : x && 3;
  },
  { shape: (a: Row) => [10, a[0]!] },
);

/** Less accurate on a GPU. */
const inverses = kernelOf(
  function inverses(this: This, a: Row) {
    const x = a[this.thread.x]!;
    const inside = Math.tanh(x) * 0.5;
    const arcs = Math.asin(inside) + Math.acos(inside) * 2 + Math.atan(x) + Math.atan2(x, 2);
    return arcs + Math.asinh(x) + Math.acosh(1.5 + x * x) + Math.atanh(inside);
  },
  { shape: same },
);

export interface KernelCase {
  readonly of: OwnKernel;
  readonly call: (...inputs: Tensor[]) => Tensor;
  /** Fresh inputs, strided ones among them. */
  readonly inputs: () => Tensor[];
  readonly differentiable: boolean;
}

const columns = (rows: number, size: number) => randn([size, rows]).transpose(0, 1);

export const kernelCases: Readonly<Record<string, KernelCase>> = {
  scaledSum: {
    of: scaledSum,
    call: (a, b) => scaledSum(a!, b!),
    inputs: () => [randn([7]), randn([14]).slice(0, 1, 14, 2)],
    differentiable: true,
  },
  product: {
    of: product,
    call: (a, b) => product(a!, b!),
    inputs: () => [columns(4, 3), randn([3, 5]).narrow(1, 1, 4)],
    differentiable: true,
  },
  sigmoid: {
    of: sigmoid,
    call: (a) => sigmoid(a!),
    inputs: () => [columns(3, 4)],
    differentiable: true,
  },
  smoothed: {
    of: smoothed,
    call: (a) => smoothed(a!),
    inputs: () => [columns(5, 4)],
    differentiable: true,
  },
  firstAbove: {
    of: firstAbove,
    call: (a, limit) => firstAbove(a!, limit!),
    inputs: () => [columns(4, 5), randn([])],
    differentiable: false,
  },
  functions: {
    of: functions,
    call: (a) => functions(a!),
    inputs: () => [randn([33])],
    differentiable: false,
  },
  specialValues: {
    of: specialValues,
    call: (a) => specialValues(a!),
    inputs: () => [tensor([0, 0.5, -0.5, 1.5, 2.5, -2, -1.5, 3, NaN, Infinity, -Infinity])],
    differentiable: false,
  },
  inverses: {
    of: inverses,
    call: (a) => inverses(a!),
    inputs: () => [randn([33])],
    differentiable: false,
  },
  expanded: {
    of: sigmoid,
    call: (a) => sigmoid(a!),
    inputs: () => [randn([1, 4]).expand([3, 4])],
    differentiable: true,
  },
  empty: {
    of: sigmoid,
    call: (a) => sigmoid(a!),
    inputs: () => [randn([0, 4])],
    differentiable: true,
  },
};
