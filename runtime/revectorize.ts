import { noGrad } from './autograd/grad-mode.ts';
import { grad } from './backward/grad.ts';
import { revectorize as withWideVectors } from './device/cpu/revectorize.ts';
import { pool } from './device/cpu/threads/pool.ts';
import { tensor } from './ops/core/create.ts';
import * as ops from './ops/index.ts';
import type { DType } from './spec/dtype.ts';
import { tidy } from './tensor/lifetime.ts';
import type { Tensor } from './tensor/tensor.ts';

/**
 * Enables 256-bit vectors in the engine, and compares kernels of all kinds with and without them, bitwise.
 *
 * @returns the number of compared kernel calls.
 * @throws DeviceError if the engine doesn't support them, or a result differs.
 */
export function revectorize(): number {
  const { threads } = pool;
  // Other threads would write to the memory being compared.
  pool.threads = 1;
  try {
    const [a, b] = [numbers([256, 256]), numbers([256, 256])];
    try {
      return withWideVectors(
        () => tidy(() => sample()),
        () => tidy(() => noGrad(() => ops.matmul(a, b))),
      );
    } finally {
      a.dispose();
      b.dispose();
    }
  } finally {
    pool.threads = threads;
  }
}

let seed = 1;

/** Returns the same numbers in each process, from −2 to 2, including zero and the smallest numbers. */
function numbers(shape: readonly number[], dtype: DType = 'float32'): Tensor {
  const size = shape.reduce((all, each) => all * each, 1);
  const values = Array.from({ length: size }, (_, i) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    if (i % 97 === 5) return 0;
    if (i % 89 === 7) return 1e-40;
    return (seed / 2 ** 32) * 4 - 2;
  });
  return tensor(values, { dtype }).reshape(shape);
}

/** Runs kernels of all kinds, with sizes around those of vectors, tiles and blocks. */
function sample(): void {
  products();
  convolutions();
  rows();
  elements();
}

function products(): void {
  for (const [m, k, n] of [
    [1, 300, 40],
    [5, 7, 3],
    [6, 16, 16],
    [13, 40, 33],
    [40, 300, 1],
    [70, 530, 50],
  ] as const) {
    const [a, b] = [numbers([m, k]), numbers([k, n])];
    const [at, bt] = [numbers([k, m]).t(), numbers([n, k]).t()];
    for (const x of [a, at]) for (const y of [b, bt]) ops.matmul(x, y);
    gradients([a, b], ops.matmul);
  }
  ops.matmul(numbers([3, 9, 20]), numbers([3, 20, 18]));
  for (const dtype of ['float64', 'int32', 'float16'] as const) {
    ops.matmul(numbers([9, 30], dtype), numbers([30, 21], dtype));
  }
}

function convolutions(): void {
  for (const [channels, out, options] of [
    [3, 8, { padding: 1 }],
    [16, 20, { padding: 1, stride: 2 }],
    [8, 8, { padding: 1, groups: 8 }],
    [4, 6, { dilation: 2 }],
  ] as const) {
    const groups = 'groups' in options ? options.groups : 1;
    const image = numbers([2, channels, 13, 17]);
    gradients([image, numbers([out, channels / groups, 3, 3])], (x, w) =>
      ops.conv2d(x, w, null, options),
    );
  }
  gradients([numbers([2, 5, 12, 14])], (x) => ops.maxPool2d(x, 2));
  gradients([numbers([2, 5, 12, 14])], (x) => ops.avgPool2d(x, 3));
}

function rows(): void {
  for (const length of [3, 16, 50, 257]) {
    const x = numbers([7, length]);
    gradients([x], (each) => ops.softmax(each, 1));
    gradients([x], (each) => ops.logSoftmax(each, 1));
    gradients([x, numbers([length]), numbers([length])], (each, weight, bias) =>
      ops.layerNorm(each, [length], weight, bias),
    );
    for (const dim of [0, 1]) {
      ops.sum(x, dim);
      ops.amax(x, dim);
      ops.prod(x, dim);
      ops.std(x, dim);
      ops.cumsum(x, dim);
    }
    ops.argmax(x, 1);
    ops.indexSelect(x, 0, tensor([3, 1, 5], { dtype: 'int32' }));
    ops.cat([x, x.t().contiguous().t()], 1);
  }
  const [q, k, v] = [numbers([2, 9, 16]), numbers([2, 11, 16]), numbers([2, 11, 16])];
  gradients([q, k, v], (...inputs) =>
    ops.scaledDotProductAttention(...(inputs as [Tensor, Tensor, Tensor])),
  );
}

const unary: readonly ((x: Tensor) => Tensor)[] = [
  ...[ops.abs, ops.acosh, ops.asin, ops.atan, ops.ceil, ops.cos, ops.erf, ops.erfinv],
  ...[ops.exp, ops.expm1, ops.floor, ops.gelu, ops.lgamma, ops.log, ops.log1p, ops.mish],
  ...[ops.neg, ops.reciprocal, ops.relu, ops.round, ops.rsqrt, ops.sigmoid, ops.sign, ops.silu],
  ...[ops.sin, ops.softplus, ops.sqrt, ops.square, ops.tan, ops.tanh, ops.trunc],
];

const binary: readonly ((x: Tensor, y: Tensor) => Tensor)[] = [
  ...[ops.add, ops.sub, ops.mul, ops.div, ops.pow, ops.maximum, ops.atan2, ops.remainder],
  ...[ops.lt],
];

function elements(): void {
  for (const length of [7, 64, 131]) {
    const [x, y] = [numbers([length]), numbers([length])];
    for (const fn of unary) gradients([x], fn);
    for (const fn of binary) fn(x, y);
    ops.where(ops.lt(x, y), x, y);
    for (const dtype of ['float16', 'bfloat16', 'uint8', 'int32', 'bool', 'float64'] as const) {
      const cast = ops.cast(x, dtype);
      ops.cast(cast, 'float32');
      if (dtype !== 'bool') ops.add(cast, cast);
    }
  }
  const wide = numbers([12, 34]);
  ops.exp(wide.t());
  ops.add(wide, numbers([34]));
}

/** Computes the results of a function and its gradients. */
function gradients(tensors: readonly Tensor[], fn: (...inputs: Tensor[]) => Tensor): void {
  const inputs = tensors.map((each) => each.detach().requiresGrad_());
  const output = fn(...inputs);
  if (output.requiresGrad) grad(output.sum(), inputs, { allowUnused: true });
}
