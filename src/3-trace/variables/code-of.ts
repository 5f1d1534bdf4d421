import type { Closure } from '../../vm/bytecode/frame.ts';

/** A function as the tracer needs it; phases 1 and 2 provide it. */
export interface CapturedCode {
  readonly closure: Closure;
  readonly boundThis: { readonly value: unknown } | undefined;
  readonly boundArgs: readonly unknown[];
}

export interface RejectedCode {
  readonly refused: true;
  /** The host's or Node's own function, which can't be traced. */
  readonly native: boolean;
  readonly why: string;
}

/** Source, scope and bytecode of a function; the same object for the same function. */
export interface CodeOf {
  // biome-ignore lint/complexity/noBannedTypes: whatever is called.
  (fn: Function): CapturedCode | RejectedCode;
  /** A function of this package that uses nothing but its arguments and the language's globals. */
  // biome-ignore lint/complexity/noBannedTypes: whatever is called.
  ownAlone(fn: Function): CapturedCode | RejectedCode;
  /** The constructor of a class, with the function that gives an instance its fields. */
  // biome-ignore lint/complexity/noBannedTypes: whatever stands after `new`.
  construction(type: Function): CapturedCode | RejectedCode;
  /** A private method, getter or setter that a class declares, as its text says; undefined when it has none. */
  privateMember(
    // biome-ignore lint/complexity/noBannedTypes: whatever stands after `new`.
    type: Function,
    name: string,
    kind: PrivateMemberKind,
  ): CallableFunction | undefined;
  /** For `super`: the object on the receiver's chain of prototypes that the method was defined on. */
  // biome-ignore lint/complexity/noBannedTypes: whatever is called.
  homeObject(method: Function, receiver: object): object | undefined;
}

export type PrivateMemberKind = 'method' | 'get' | 'set';

export function isRefused(found: CapturedCode | RejectedCode): found is RejectedCode {
  return 'refused' in found;
}
