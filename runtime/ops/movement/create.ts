import * as fillingKernels from '../../device/cpu/scalar/fill.ts';
import { named } from '../../device/kernel-op.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { shown } from '../../options/expect-options.ts';
import type { DType } from '../../spec/dtype.ts';
import type { Shape } from '../../spec/shape.ts';
import { expectHeld } from '../../spec/stored-numbers.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { bind1 } from '../core/bind.ts';
import { type CreateOptions, created } from '../core/creation-options.ts';
import { defineOp } from '../record/define-op.ts';
import { asNumber } from '../record/expect-tensors.ts';
import { expectNumber } from '../record/positional.ts';

export const fullOp = defineOp({
  name: 'full',
  operands: {},
  attrs: { shape: 'sizes', dtype: 'dtype', value: 'number' },
  infer: (_inputs, { shape, dtype }) => ({ dtype: dtype as DType, shape: shape as Shape }),
  kernel: named('fill', fillingKernels.fill),
});

export function checkShape(shape: Shape, what: string): Shape {
  if (Array.isArray(shape) && shape.every((dim) => Number.isInteger(dim) && dim >= 0)) return shape;
  throw new ArgumentError({
    what: `${what}: not a shape`,
    given: shown(shape),
    expected: 'non-negative integers in an array',
    remedy: 'pass the sizes as an array, as in zeros([2, 3])',
  });
}

function filled<D extends DType>(
  name: string,
  shape: Shape,
  value: number,
  options: CreateOptions<D> = {},
  dtype: DType = 'float32',
): Tensor<D> {
  return created({ op: name, options, dtype }, (dtype) => {
    checkShape(shape, name);
    expectHeld(value, dtype, name);
    return bind1(fullOp, [], { shape, value, dtype });
  }) as Tensor<D>;
}

/** A tensor filled with a number (float32 by default) or a boolean (bool by default). */
export function full(shape: Shape, value: boolean, options?: CreateOptions<'bool'>): Tensor<'bool'>;
export function full<D extends DType = 'float32'>(
  shape: Shape,
  value: number | boolean,
  options?: CreateOptions<D>,
): Tensor<D>;
export function full(shape: Shape, fillValue: number | boolean, options?: CreateOptions): Tensor {
  const value = asNumber(fillValue);
  expectNumber('full', 'value', value);
  return filled('full', shape, value, options, typeof fillValue === 'boolean' ? 'bool' : 'float32');
}

/** A tensor of zeros; float32 by default. */
export const zeros = <D extends DType = 'float32'>(
  shape: Shape,
  options?: CreateOptions<D>,
): Tensor<D> => filled('zeros', shape, 0, options);
/** Filled with zeros, so that no tensor exposes previous contents of its memory. */
export const empty = zeros;
/** A tensor of ones; float32 by default. */
export const ones = <D extends DType = 'float32'>(
  shape: Shape,
  options?: CreateOptions<D>,
): Tensor<D> => filled('ones', shape, 1, options);
