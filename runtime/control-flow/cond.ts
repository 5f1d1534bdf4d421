import { expectList } from '../ops/record/expect-tensors.ts';
import { expectFunction } from '../options/expect-arguments.ts';
import { type Condition, holds } from './condition.ts';

/**
 * One of two functions, chosen by a tensor: `torch.cond`. Both get the operands. Eagerly the condition is
 * read and one of them runs; inside a full graph both become branches of one op, and must give results of
 * one structure, with equal dtypes and shapes. Gradients flow through the branch that ran.
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
