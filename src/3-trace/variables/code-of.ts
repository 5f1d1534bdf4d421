import type { Code } from '../../vm/bytecode/code.ts';
import type { Closure } from '../../vm/bytecode/frame.ts';
import type { Variable } from './variable.ts';

/** Code and scope of a function, provided by phases 1 and 2. */
export interface CapturedCode {
  readonly closure: Closure;
  readonly boundThis: { readonly value: unknown } | undefined;
  readonly boundArgs: readonly unknown[];
}

export interface RejectedCode {
  readonly refused: true;
  /** True for native functions of the engine or Node, which can't be traced. */
  readonly native: boolean;
  /** True for published functions of this package that aren't traced. */
  readonly opaque?: boolean;
  readonly why: string;
}

/** Returns the source, scope and bytecode of a function; always the same object for one function. */
export interface CodeOf {
  // biome-ignore lint/complexity/noBannedTypes: any function.
  (fn: Function): CapturedCode | RejectedCode;
  /** Returns the code of a function that is called; rejects opaque ones of this package without reading them. */
  // biome-ignore lint/complexity/noBannedTypes: any function.
  called(fn: Function): CapturedCode | RejectedCode;
  /** Returns the code of a package function that uses only its arguments and built-in globals. */
  // biome-ignore lint/complexity/noBannedTypes: any function.
  ownAlone(fn: Function): CapturedCode | RejectedCode;
  /** Returns the constructor of a class, with the function that initializes instance fields. */
  // biome-ignore lint/complexity/noBannedTypes: any constructor.
  construction(type: Function): CapturedCode | RejectedCode;
  /** Returns a private method, getter or setter that the class source declares; undefined if there is none. */
  privateMember(
    // biome-ignore lint/complexity/noBannedTypes: any constructor.
    type: Function,
    name: string,
    kind: PrivateMemberKind,
  ): CallableFunction | undefined;
  /**
   * Returns a method's home object for `super`: the object in the receiver's prototype chain that defines the
   * method.
   */
  // biome-ignore lint/complexity/noBannedTypes: any function.
  homeObject(method: Function, receiver: object): object | undefined;
  /** Returns the class of a home object, if its source declares the private name. */
  // biome-ignore lint/complexity/noBannedTypes: a class.
  privateOwner(home: object, name: string): Function | undefined;
}

export type PrivateMemberKind = 'method' | 'get' | 'set';

export function isRefused(found: CapturedCode | RejectedCode): found is RejectedCode {
  return 'refused' in found;
}

/** Returns the code that a call of the function runs with exactly these arguments; undefined if it isn't known. */
export function codeBehind(codeOf: CodeOf, callee: Variable): Code | undefined {
  if (callee.kind === 'closure') return callee.code;
  if (callee.kind !== 'function') return undefined;
  const found = codeOf.called(callee.value);
  return isRefused(found) || found.boundArgs.length > 0 ? undefined : found.closure.code;
}
