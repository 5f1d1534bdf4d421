import { formatSpec } from '../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** A JavaScript boolean, or a tensor with one element, true if it is nonzero. */
export type Condition = Tensor | boolean;

/**
 * Reads a condition, which waits for the device. In a full graph the result is a graph value. Throws ShapeError
 * for a tensor with several elements, ArgumentError for anything that is not a condition.
 */
export function holds(condition: Condition, what: string): boolean {
  if (typeof condition === 'boolean') return condition;
  const tensor = condition as Partial<Tensor> | null | undefined;
  if (typeof tensor?.itemSync !== 'function') {
    throw new ArgumentError({
      what: `${what}: not a condition`,
      given: condition === null ? 'null' : typeof condition,
      expected: 'a tensor with one element, or true or false',
      remedy: 'compare first: x.gt(0)',
    });
  }
  if (condition.numel() !== 1) {
    throw new ShapeError({
      what: `${what}: a condition with several values`,
      given: formatSpec(condition),
      expected: 'a tensor with one element',
      remedy: 'reduce it first, with any() or all()',
    });
  }
  return condition.itemSync() !== 0;
}
