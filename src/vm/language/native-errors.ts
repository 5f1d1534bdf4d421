import {
  notCallableText,
  notDelegableText,
  notIterableText,
  valueText,
} from '../bytecode/call-site-text.ts';
import type { Code } from '../bytecode/code.ts';
import type { Pc } from '../bytecode/instructions.ts';

/** Errors with V8's messages for the failing expression. They belong to the realm of this file. */

export const notCallable = (code: Code, pc: Pc): TypeError =>
  new TypeError(notCallableText(code, pc));

export const notIterable = (
  code: Code,
  pc: Pc,
  value: unknown,
  what: 'iterable' | 'async iterable' = 'iterable',
): TypeError => new TypeError(notIterableText(code, pc, value, what));

export const notDelegable = (value: unknown, isAsync: boolean): TypeError =>
  new TypeError(notDelegableText(value, isAsync));

/** The error for a method of the iterator protocol that isn't a function. */
export const notMethod = (value: unknown): TypeError =>
  new TypeError(`${valueText(value)} is not a function`);
