/** Checks of operands passed from untyped JavaScript. */

import { ArgumentError } from '../../errors/errors.ts';
import { shown } from '../../options/expect-options.ts';
import { isTensor } from '../../options/is-tensor.ts';
import { disposedError } from '../../tensor/disposed-error.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { isNumber } from '../numbers/symbolic-number.ts';

/**
 * Throws ArgumentError for an operand of the function `name` that is not a tensor, DisposedError for a disposed tensor.
 * For composite functions: errors of their ops would name the op.
 */
export function expectTensors(name: string, ...operands: readonly Tensor[]): void {
  for (const operand of operands) expectUsable(name, operand);
}

function expectUsable(name: string, operand: Tensor): void {
  if (!isTensor(operand)) throw noTensor(name, operand);
  if (operand.disposed) throw disposedError(operand, name);
}

/** Throws as `expectTensors` for an operand that is neither a tensor nor omitted. */
export function expectOptional(name: string, operand: Tensor | null | undefined): void {
  if (operand !== null && operand !== undefined) expectUsable(name, operand);
}

/** Throws as `expectTensors` for an operand that is neither a tensor nor a number. */
export function expectOperand(name: string, operand: Tensor | number): void {
  if (!isNumber(operand)) expectUsable(name, operand);
}

/** Returns a boolean as 1 or 0. */
export const asNumber = <T>(value: T | boolean): T | number =>
  typeof value === 'boolean' ? +value : value;

/** Throws ArgumentError for sizes, dimensions or counts that are not an array; `argument` names them. */
export function expectList(name: string, argument: string, value: unknown): void {
  if (Array.isArray(value)) return;
  throw new ArgumentError({
    what: `${name}: ${argument} that are not a list`,
    given: shown(value),
    expected: `an array of ${argument}`,
    remedy: `pass the ${argument} in one array`,
  });
}

/** Throws ArgumentError unless `operands` is an array of tensors. */
export function expectTensorList(name: string, operands: readonly Tensor[]): void {
  if (Array.isArray(operands)) {
    expectTensors(name, ...operands);
    return;
  }
  throw new ArgumentError({
    what: `${name}: not a list of tensors`,
    given: shown(operands),
    expected: 'an array of tensors',
    remedy: `pass them in one array: ${name}(${name === 'einsum' ? "'ij,jk->ik', " : ''}[a, b])`,
  });
}

/** Returns the shape of an operand. Throws ArgumentError for anything but a tensor. */
export function shapeOf(name: string, operand: Tensor): Tensor['shape'] {
  if (!isTensor(operand)) throw noTensor(name, operand);
  return operand.shape;
}

/** Returns the error for an operand that is not a tensor. */
export function noTensor(name: string, value: unknown): ArgumentError {
  return new ArgumentError({
    what: `${name}: an operand is not a tensor`,
    given: shown(value),
    expected: 'a tensor, or a number where the op takes one',
    remedy: operandRemedy(value),
  });
}

function operandRemedy(value: unknown): string {
  if (value == null)
    return 'check where the value comes from: an entry that does not exist is undefined';
  if (value instanceof Promise) return 'await it, or read with x.itemSync()';
  if (typeof value === 'string' || typeof value === 'bigint') return 'pass a number: Number(value)';
  return 'pass tensors one by one, numbers as tensor([1, 2])';
}
