import { expectList } from '../ops/record/expect-tensors.ts';
import { expectFunction } from '../options/expect-arguments.ts';
import { type Condition, holds } from './condition.ts';

/**
 * Runs one of two functions on the operands, selected by a tensor, like `torch.cond`. Eager execution reads the
 * condition and runs one function. In a full graph both become branches of one op, and their results must have the
 * same structure, dtypes and shapes. Gradients flow through the branch that ran.
 */
export function cond<Operands extends readonly unknown[], Result>(
  condition: Condition,
  onTrue: (...operands: Operands) => Result,
  onFalse: (...operands: Operands) => Result,
  operands: Operands = [] as unknown as Operands,
): Result {
  expectFunction('cond', onTrue);
  expectFunction('cond', onFalse);
  expectList('cond', 'operands', operands);
  if (holds(condition, 'cond')) return onTrue(...operands);
  return onFalse(...operands);
}
