/**
 * Device scalars that are whole numbers according to the trace. An integer tensor accepts them like whole
 * JavaScript numbers; the program checks them, since a run may have a number that the dtype can't represent.
 */

import { noGrad } from '../../../../runtime/autograd/grad-mode.ts';
import { cast } from '../../../../runtime/ops/core/cast.ts';
import { eq } from '../../../../runtime/ops/pointwise/pointwise.ts';
import { type DType, dtypes } from '../../../../runtime/spec/dtype.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { Variable } from '../../variables/variable.ts';
import { check } from './check.ts';
import type { LeafVariable } from './leaf.ts';

const whole = new WeakSet<Tensor>();

export function noteWhole(tensor: Tensor): void {
  whole.add(tensor);
}

/** Returns whether a value is a whole number in every run, unless a number exceeds float64. */
export function isWhole(variable: Variable | LeafVariable): boolean {
  switch (variable.kind) {
    case 'constant':
    case 'symbolic':
      return Number.isInteger(variable.value);
    case 'scalar':
      return isWholeTensor(variable.tensor);
    default:
      return false;
  }
}

export function isWholeTensor(tensor: Tensor): boolean {
  return !dtypes[tensor.dtype].floating || whole.has(tensor);
}

/** Operators and functions whose results are whole if their operands are, or always. */
const keepsWhole: ReadonlySet<string> = new Set([
  '+',
  '-',
  '*',
  '%',
  'Math.max',
  'Math.min',
  'Math.abs',
]);
const makesWhole: ReadonlySet<string> = new Set([
  ...['~', '&', '|', '^', '<<', '>>', '>>>'],
  ...['Math.floor', 'Math.ceil', 'Math.round', 'Math.trunc', 'Math.sign'],
]);

/** Records whether a result is whole, based on its operands. */
export function noteComputed(fn: string, result: Tensor, from: readonly Variable[]): void {
  if (makesWhole.has(fn) || (keepsWhole.has(fn) && from.every(isWhole))) noteWhole(result);
}

/** Converts a number to an integer dtype. A run whose number the dtype can't represent ends without effects. */
export function asInteger(t: Tracer, number: Tensor, dtype: DType): Tensor {
  const [integer, holds] = t.runApi(() =>
    noGrad(() => {
      const integer = cast(number, dtype);
      return [integer, eq(cast(integer, 'float64'), number)];
    }),
  ) as [Tensor, Tensor];
  check(t, holds, true);
  return integer;
}
