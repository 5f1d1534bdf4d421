/**
 * Calls of the tensor API on tensors of data-dependent shape. A value of such a shape is known to a
 * program by its dtype, its rank and the sizes that are fixed; the call has a program of its own for each set
 * of shapes that runs have.
 */

import type { TensorSpec } from '../device/tensor-meta.ts';
import type { Shape } from '../spec/shape.ts';
import type { Region } from './program.ts';

/** `tensor`: of a known shape; `number`: one that decides shapes, float64 without dimensions. */
export type OperandForm = 'tensor' | 'dynamic' | 'list' | 'number';

/**
 * The data of an operand that only a run knows: the shape, the number of elements, or the number; null for a known
 * shape.
 */
export type GivenOperand = Shape | number | null;

export interface DynamicCall {
  /** The function, as the user wrote it. */
  readonly name: string;
  readonly forms: readonly OperandForm[];
  /** For each result, whether its shape is data-dependent. */
  readonly dynamic: readonly boolean[];
  /** Its one result is a list of all results of its programs, as many tensors as the shapes say. */
  readonly list: boolean;
  /** A sample of the data that a run may have, which the call accepts. */
  readonly sample: readonly GivenOperand[];
  /**
   * The program for the operands of a run. Its inputs: one for each tensor, and one for each element of a list; a
   * number has none. Throws FailedCheck where the call rejects it, or returns other shapes than are known.
   */
  at(given: readonly GivenOperand[]): Region;
}

/** How a program knows a value of which some sizes (null) are known to the run alone: it has no bytes. */
export function dynamicSpec(
  dtype: TensorSpec['dtype'],
  sizes: readonly (number | null)[],
): TensorSpec {
  return { dtype, shape: [0, ...sizes.map((size) => size ?? 0)] };
}

/** One text for each set of shapes. */
export function keyOf(given: readonly GivenOperand[]): string {
  return given.map((each) => (Array.isArray(each) ? `[${each.join()}]` : String(each))).join(' ');
}

/** Returns, for each input of the program for `given`, the number of its operand. */
export function operandsOf(
  forms: readonly OperandForm[],
  given: readonly GivenOperand[],
): readonly number[] {
  return forms.flatMap((form, i) => {
    if (form === 'number') return [];
    return form === 'list' ? new Array<number>(given[i] as number).fill(i) : [i];
  });
}
