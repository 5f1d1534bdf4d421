import { ArgumentError, DTypeError } from '../errors/errors.ts';
import { nextOffset } from '../random/seed.ts';
import { type DType, dtypes } from '../tensor/dtype.ts';
import { formatShape, type Shape } from '../tensor/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { bind1 } from './bind.ts';
import { defineOp, type OpRecord } from './define-op.ts';

const fullOp = defineOp({
  name: 'full',
  operands: {},
  infer: (_inputs, { shape, dtype }) => ({
    dtype: dtype as DType,
    shape: shape as Shape,
  }),
  kernel: { kind: 'named', name: 'fill' },
});

function randomOp(name: 'uniform' | 'normal') {
  return defineOp({
    name,
    operands: {},
    infer: (_inputs, { shape, dtype }) => ({ dtype: dtype as DType, shape: shape as Shape }),
    kernel: { kind: 'named', name },
  });
}

const uniformOp = randomOp('uniform');
const normalOp = randomOp('normal');

function checkShape(shape: Shape, what: string): Shape {
  if (Array.isArray(shape) && shape.every((dim) => Number.isInteger(dim) && dim >= 0)) return shape;
  throw new ArgumentError({
    what: `${what}: not a shape`,
    given: Array.isArray(shape) ? formatShape(shape) : String(shape),
    expected: 'non-negative integers',
    remedy: 'pass the sizes as an array: zeros([2, 3])',
  });
}

export interface CreateOptions {
  readonly dtype?: DType;
}

function filled(name: string, shape: Shape, value: number, options: CreateOptions = {}): Tensor {
  return bind1(fullOp, [], {
    shape: checkShape(shape, name),
    value,
    dtype: options.dtype ?? 'float32',
  });
}

export function full(shape: Shape, value: number, options?: CreateOptions): Tensor {
  return filled('full', shape, value, options);
}

export const zeros = (shape: Shape, options?: CreateOptions): Tensor =>
  filled('zeros', shape, 0, options);
export const ones = (shape: Shape, options?: CreateOptions): Tensor =>
  filled('ones', shape, 1, options);

/** Uniform in [0, 1): multiples of 2^−24, in float64 of 2^−53. */
export function rand(shape: Shape, options?: CreateOptions): Tensor {
  return random('rand', uniformOp, shape, options);
}

/** Standard normal. */
export function randn(shape: Shape, options?: CreateOptions): Tensor {
  return random('randn', normalOp, shape, options);
}

function random(
  name: string,
  op: OpRecord,
  shape: Shape,
  { dtype = 'float32' }: CreateOptions = {},
): Tensor {
  checkShape(shape, name);
  if (!dtypes[dtype].floating) {
    throw new DTypeError({
      what: `${name}: random numbers between integers`,
      given: dtype,
      expected: 'float32 or float64',
      remedy: 'use randint(low, high, shape) for integers, bernoulli(p) for truth values',
    });
  }
  return bind1(op, [], { shape, dtype, ...nextOffset(shape, dtype) });
}
