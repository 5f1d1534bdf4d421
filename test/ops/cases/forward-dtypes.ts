/** The cases of a forward reference, again in the dtypes that they don't name. */

import type { Attrs } from '../../../runtime/device/kernel-op.ts';
import { opNamed } from '../../../runtime/ops/op-table.ts';
import type { DType } from '../../../runtime/spec/dtype.ts';
import type { Shape } from '../../../runtime/spec/shape.ts';
import { numbersOf, storedNumbers } from '../../../runtime/spec/stored-numbers.ts';
import { spread, type Tensor, type Tolerance, tensor } from '../eager.ts';
import type { Reference } from './reference.ts';

export interface Input {
  readonly shape: Shape;
  readonly dtype: DType;
  readonly range: readonly [low: number, high: number];
}

export interface ForwardCase {
  readonly inputs: readonly Input[];
  readonly attrs?: Attrs;
  readonly reference: Reference;
}

/** One dtype of the cases replaced by another. */
export interface Variant extends Tolerance {
  readonly from: DType;
  readonly to: DType;
}

/** References of slopes are differences: float64 is not compared to its last digit. */
export const variants: readonly Variant[] = [
  { from: 'float32', to: 'float32', relative: 3e-6, absolute: 2e-6 },
  { from: 'float32', to: 'float64', relative: 2e-8, absolute: 1e-8 },
  // One rounding of the result: half a unit of the last of 11 or 8 digits.
  { from: 'float32', to: 'float16', relative: 2 ** -11, absolute: 1e-5 },
  { from: 'float32', to: 'bfloat16', relative: 2 ** -8, absolute: 1e-5 },
  { from: 'int32', to: 'uint8', relative: 0, absolute: 0 },
];

/** Values that the dtype holds, in the range of the input. */
export function valuesOf({ shape, dtype, range: [low, high] }: Input, salt: number): number[] {
  const values = Array.from(spread(shape, salt), (x) => low + ((x + 1) / 2) * (high - low));
  if (dtype === 'int32' || dtype === 'bool') return values.map(Math.floor);
  // Distances between uint8 wrap where those of int32 don't: negative ones would test the test.
  if (dtype === 'uint8') return values.map((value) => Math.floor(value) & 255);
  return [...numbersOf(storedNumbers(values, dtype, 'test'), dtype)];
}

export function tensorOf({ shape, dtype }: Input, values: readonly number[]): Tensor {
  return tensor(storedNumbers(values, dtype, 'test'), { shape, dtype });
}

/** Rows of matrices, which are no uint8. */
const rowNumbers = ['luPivots', 'luRows'];

/** The case in the other dtype; null where it has none of the first, or needs that one. */
export function inDtype(
  name: string,
  example: ForwardCase,
  { from, to }: Variant,
): ForwardCase | null {
  if (from === to) return example;
  if (rowNumbers.includes(name)) return null;
  const { inputs, attrs } = example;
  const { kernel } = opNamed(name);
  // Integers beside others choose places or classes.
  const counts = from === 'int32' && kernel.kind !== 'pointwise';
  if (counts && inputs.some(({ dtype }) => dtype !== 'int32')) return null;
  if (![...inputs.map(({ dtype }) => dtype), attrs?.dtype].includes(from)) return null;
  return {
    ...example,
    inputs: inputs.map((input) => (input.dtype === from ? { ...input, dtype: to } : input)),
    ...(attrs && { attrs: attrs.dtype ? { ...attrs, dtype: to } : attrs }),
  };
}

/** What a tensor of the dtype holds of a number. */
export function heldBy(dtype: DType, value: number): number {
  // What rounds to 2^16 has no float16.
  if (dtype === 'float16' && Math.abs(value) >= 65520) return Math.sign(value) * Infinity;
  if (dtype !== 'uint8') return value;
  return ((value % 256) + 256) % 256;
}
