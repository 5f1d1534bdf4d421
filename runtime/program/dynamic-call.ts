/**
 * Calls of the tensor API on tensors of data-dependent shape. The program around the call knows only their dtype, rank
 * and fixed sizes; the call has a separate program for each set of shapes that occurs.
 */

import type { TensorSpec } from '../device/tensor-meta.ts';
import { exactText } from '../numerics/exact-text.ts';
import type { Shape } from '../spec/shape.ts';
import type { Region } from './program.ts';

/** The form of an operand: `tensor` has a known shape; `number` is a float64 scalar that determines shapes. */
export type OperandForm = 'tensor' | 'dynamic' | 'list' | 'number';

/** The data-dependent part of an operand: its shape, number of elements, or number; null if the shape is known. */
export type GivenOperand = Shape | number | null;

export interface DynamicCall {
  /** The function's name in user code. */
  readonly name: string;
  readonly forms: readonly OperandForm[];
  /** Whether each result's shape is data-dependent. */
  readonly dynamic: readonly boolean[];
  /** Whether the one result is a list of all results of its programs; the shapes determine how many. */
  readonly list: boolean;
  /** True if no result shares memory with an operand. */
  readonly apart?: boolean | undefined;
  /** Sample operands that a run might have and the call accepts. */
  readonly sample: readonly GivenOperand[];
  /**
   * Returns the program for the operands of a run. It has one input per tensor and per list element, none for
   * numbers. Throws FailedCheck if the call rejects the operands or returns unexpected shapes.
   */
  at(operands: readonly GivenOperand[]): Region;
}

/** Returns the spec, without bytes, of a value with data-dependent sizes (null). */
export function dynamicSpec(
  dtype: TensorSpec['dtype'],
  sizes: readonly (number | null)[],
): TensorSpec {
  return { dtype, shape: [0, ...sizes.map((size) => size ?? 0)] };
}

/** Returns the cache key of a set of shapes and numbers. */
export function keyOf(operands: readonly GivenOperand[]): string {
  return operands.map(exactText).join(' ');
}

/** Returns the operand index of each input of the program for operands of these forms. */
export function operandsOf(
  forms: readonly OperandForm[],
  operands: readonly GivenOperand[],
): readonly number[] {
  return forms.flatMap((form, i) => {
    if (form === 'number') return [];
    return form === 'list' ? new Array<number>(operands[i] as number).fill(i) : [i];
  });
}
