import {
  notCallableText,
  notDelegableText,
  notIterableText,
  valueText,
} from '../bytecode/call-site-text.ts';
import type { Code } from '../bytecode/code.ts';
import type { Pc } from '../bytecode/instructions.ts';
import { engineCloses } from './engine-closes.ts';

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
  // The V8 that closes iterators (Node 24) is also the first one that names the operand once.
  new TypeError(notDelegableText(value, isAsync, engineCloses().afterRejection ? 1 : 4));

/** The error for a method of the iterator protocol that isn't a function. */
export const notMethod = (value: unknown): TypeError =>
  new TypeError(`${valueText(value)} is not a function`);
