/** Random tensors, and the ops that draw them. */

import * as randomKernels from '../../device/cpu/random.ts';
import { type NamedKernel, named } from '../../device/kernel-op.ts';
import { DTypeError } from '../../errors/errors.ts';
import { nextOffset } from '../../random/seed.ts';
import { type DType, dtypes } from '../../spec/dtype.ts';
import { type HalfDType, isHalf } from '../../spec/half.ts';
import { type Shape, sizeOf } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { mul } from '../arithmetic/arithmetic.ts';
import { div, floor } from '../arithmetic/division.ts';
import { bind1 } from '../core/bind.ts';
import { cast } from '../core/cast.ts';
import { type CreateOptions, created } from '../core/creation-options.ts';
import { checkShape } from '../movement/create.ts';
import { defineOp, type OpRecord } from '../record/define-op.ts';
import { drawnRows } from '../record/row-cuts.ts';

function randomOp(kernel: NamedKernel<'uniform' | 'normal'>) {
  return defineOp({
    name: kernel.name,
    operands: {},
    attrs: { shape: 'sizes', dtype: 'dtype', seed: 'number', offset: 'size' },
    // Beyond this, counters lose precision and numbers would repeat.
    fits: (_inputs, { shape, offset }) =>
      Number(offset) + sizeOf(shape as Shape) <= Number.MAX_SAFE_INTEGER ||
      'an offset whose stream ends below 2 ** 53',
    infer: (_inputs, { shape, dtype }) => ({ dtype: dtype as DType, shape: shape as Shape }),
    kernel,
    rows: drawnRows,
  });
}

export const uniformOp = randomOp(named('uniform', randomKernels.uniform));
export const normalOp = randomOp(named('normal', randomKernels.normal));

/** Uniform in [0, 1): multiples of 2^−24, or of 2^−53 in float64. */
export function rand<D extends DType = 'float32'>(
  shape: Shape,
  options?: CreateOptions<D>,
): Tensor<D> {
  return random<D>('rand', uniformOp, shape, options);
}

/** Standard normal. */
export function randn<D extends DType = 'float32'>(
  shape: Shape,
  options?: CreateOptions<D>,
): Tensor<D> {
  return random<D>('randn', normalOp, shape, options);
}

/** The significant bits of half-precision numbers, including the leading one. */
const halfDigits = { float16: 11, bfloat16: 8 } as const;

/** Uniform half-precision numbers are truncated, not rounded, which could give 1. */
function randomHalf(op: OpRecord, shape: Shape, dtype: HalfDType): Tensor {
  return tidy(() => {
    const single = bind1(op, [], { shape, dtype: 'float32', ...nextOffset(shape) });
    const scale = 2 ** halfDigits[dtype];
    return cast(op === normalOp ? single : div(floor(mul(single, scale)), scale), dtype);
  });
}

function random<D extends DType>(
  name: string,
  op: OpRecord,
  shape: Shape,
  options: CreateOptions<D> = {},
): Tensor<D> {
  return created({ op: name, options, dtype: 'float32' }, (dtype) => {
    checkShape(shape, name);
    expectFloating(name, dtype);
    return isHalf(dtype)
      ? randomHalf(op, shape, dtype)
      : bind1(op, [], { shape, dtype, ...nextOffset(shape, dtype) });
  }) as Tensor<D>;
}

function expectFloating(name: string, dtype: DType): void {
  if (dtypes[dtype].floating) return;
  throw new DTypeError({
    what: `${name}: random numbers between integers`,
    given: dtype,
    expected: 'a floating-point dtype',
    remedy: 'use randint(low, high, shape) for integers, bernoulli(p) for booleans',
  });
}
