import type { Code } from './code.ts';
import type { Pc, Reg } from './instructions.ts';

/** A local variable that closures share. Contains `uninitialized` before its initialization. */
export interface Cell {
  value: unknown;
}

/** The content of a register or cell before its `let`, `const` or `class` binding is initialized. */
export const uninitialized: unique symbol = Symbol('uninitialized');

/** Live access to the names outside a function. Reads and writes go to the user's own variables. */
export interface Scope {
  has(name: string): boolean;
  /** Throws the ReferenceError that the user's code would get (unknown name, or uninitialized). */
  get(name: string): unknown;
  /** `strict`: the assignment is in strict mode, where a name that doesn't exist is an error. */
  set(name: string, value: unknown, strict?: boolean): void;
  /** Returns a reader that resolves the name once; for guards. */
  reader(name: string): () => unknown;
  /** Like `set`, but resolves the name once, for code that writes it often. */
  writer?(name: string, strict: boolean): (value: unknown) => void;
  /**
   * Returns true if the name can no longer change: const, import, or a function or class that is never assigned.
   */
  isConstant(name: string): boolean;
  /**
   * Returns the identity of a variable that traced code writes: two scopes return the same object exactly if they
   * refer to the same variable. `write`: the variable is about to be written; for reads, only variables that were
   * written matter. Undefined if it isn't such a variable, or if that is unknown.
   */
  place?(name: string, write: boolean): VariablePlace | undefined;
  /** `typeof name`, if that differs from the type of `get(name)`. */
  typeOf?(name: string): string;
  /** `delete name` in sloppy mode. Without this method, names can't be deleted. */
  delete?(name: string): boolean;
  /** `#name` with the function's access rights; only called if lowering knows that it exists. */
  privateName?(name: string): PrivateAccess;
}

/** A variable as a property: reads and writes of the property go to the variable. */
export interface VariablePlace {
  readonly object: object;
  readonly key: string;
  /** Returns whether a read refers to this variable; omitted if only the scope's own names do. */
  isReadBy?(read: () => unknown): boolean;
}

/** Access to `#name` of an object, with the captured function's access rights. */
export interface PrivateAccess {
  /** The kind of the class's declaration; undefined if it is unknown. */
  readonly kind?: 'field' | 'method' | 'accessor' | undefined;
  readonly isStatic?: boolean;
  /** The class that declares the name, if it is known. */
  owner?(): unknown;
  get(object: object): unknown;
  set(object: object, value: unknown): void;
  has(object: object): boolean;
}

/** The code of a frame, with its environment. */
export interface Closure {
  readonly code: Code;
  readonly scope: Scope;
  /** Cells captured from the enclosing function; empty for captured functions. */
  readonly cells: readonly Cell[];
  /** The home object of a method, for `super`. */
  homeObject?: object | undefined;
  /** For arrows: the captured `this`. */
  readonly lexicalThis?: LexicalThis | undefined;
  /** The function object, once it exists: `arguments.callee`, and for a constructor the class. */
  fn?: object | undefined;
  /** For classes: the field initializer, whose `this` is the new instance. */
  fields?: (() => void) | undefined;
}

/**
 * Creates a closure with all fields as own properties, so that properties that user code adds to
 * `Object.prototype` have no effect.
 */
export function newClosure({
  code,
  scope,
  cells,
  homeObject,
  lexicalThis,
  fn,
}: Required<Omit<Closure, 'fields'>>): Closure {
  return { code, scope, cells, homeObject, lexicalThis, fn, fields: undefined };
}

/** The values that an arrow shares with the enclosing function. */
interface LexicalThis {
  readonly value: unknown;
  readonly newTarget?: unknown;
  /** The closure of that function: `super()` in an arrow belongs to its constructor. */
  readonly closure?: Closure | undefined;
}

/** An activation of a function, as data. It can be suspended and resumed at any instruction. */
export interface Frame {
  readonly closure: Closure;
  pc: Pc;
  /** Empty in a frame at its start; allocated on first use. */
  registers: unknown[];
  readonly thisValue: unknown;
  readonly args: readonly unknown[];
  readonly newTarget: unknown;
  /** Set in a frame that `noGrad` or `enableGrad` called, and in its callees. */
  readonly gradMode?: boolean | undefined;
  /**
   * Set in a frame that `deviceGuard` called, and in its callees: its device, which the VM only passes on, or
   * null.
   */
  readonly guard?: object | null | undefined;
  /** The caller's register for the result; undefined in the outermost frame. */
  readonly returnTo?: Reg | undefined;
}
