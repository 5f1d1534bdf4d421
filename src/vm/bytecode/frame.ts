import type { Code } from './code.ts';
import type { Pc, Reg } from './instructions.ts';

/** A local variable that closures share. `undefined` holder state before initialisation is `uninitialized`. */
export interface Cell {
  value: unknown;
}

/** The content of a register or cell before a `let`, `const` or `class` binding is initialised. */
export const uninitialized: unique symbol = Symbol('uninitialized');

/** Live access to the names that surround a function. Reads and writes go to the user's own variables. */
export interface Scope {
  has(name: string): boolean;
  /** Throws the ReferenceError that the user's code would get (unknown name, or before initialisation). */
  get(name: string): unknown;
  /** `strict`: the assignment is in strict code, where a name that doesn't exist is an error. */
  set(name: string, value: unknown, strict?: boolean): void;
  /** A reader that resolves the name once; for guards. */
  reader(name: string): () => unknown;
  /** Like `set`, resolved once, for code that writes the name often. */
  writer?(name: string, strict: boolean): (value: unknown) => void;
  /** True when the name can't change any more: const, import, function or class that is never assigned. */
  isConstant(name: string): boolean;
  /**
   * Where a variable that traced code writes is kept: two scopes return the same object exactly when they
   * show the same variable. `write`: whether it is about to be written; for reads only the places of
   * variables that were written are of interest. Undefined: not such a variable, or unknown.
   */
  place?(name: string, write: boolean): VariablePlace | undefined;
  /** `typeof name`, where that is more than the type of `get(name)`. */
  typeOf?(name: string): string;
  /** `delete name` of sloppy code; without it, names can't be deleted. */
  delete?(name: string): boolean;
  /** `#name` with the rights of the function; only where lowering knows that it exists. */
  privateName?(name: string): PrivateAccess;
}

/** A variable as a property: reading and writing it goes to the variable. */
export interface VariablePlace {
  readonly object: object;
  readonly key: string;
  /** Whether a read shows this variable; absent where only the scope's own names do. */
  isReadBy?(read: () => unknown): boolean;
}

/** Access to `#name` of an object, with the rights of the captured function. */
export interface PrivateAccess {
  /** The class's declaration of the name; undefined where that is not known. */
  readonly kind?: 'field' | 'method' | 'accessor' | undefined;
  readonly isStatic?: boolean;
  /** The class that declares the name, where that is known. */
  owner?(): unknown;
  get(object: object): unknown;
  set(object: object, value: unknown): void;
  has(object: object): boolean;
}

/** The code that a frame runs, with its surroundings. */
export interface Closure {
  readonly code: Code;
  readonly scope: Scope;
  /** Cells captured from the enclosing function; empty for captured functions. */
  readonly cells: readonly Cell[];
  /** For `super`: the object that the method was defined on. */
  homeObject?: object | undefined;
  /** Arrows: the `this` of the place where the arrow was made. */
  readonly lexicalThis?: LexicalThis | undefined;
  /** The function object, once there is one: `arguments.callee`, and a class for its constructor. */
  fn?: object | undefined;
  /** Classes: makes the fields of a new instance, which is its `this`. */
  fields?: (() => void) | undefined;
}

/** With every field of its own: what user code has put on the prototype of objects isn't taken for one. */
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

/** The values that an arrow shares with the function around it. */
export interface LexicalThis {
  readonly value: unknown;
  readonly newTarget?: unknown;
  /** The closure of that function: `super()` in an arrow is that of its constructor. */
  readonly closure?: Closure | undefined;
}

/** One activation of a function, as data: it can be suspended and resumed at any instruction. */
export interface Frame {
  readonly closure: Closure;
  pc: Pc;
  /** Empty in a frame at its start: they are allocated on first use. */
  registers: unknown[];
  readonly thisValue: unknown;
  readonly args: readonly unknown[];
  readonly newTarget: unknown;
  /** Set in a frame that `noGrad` or `enableGrad` called, and in those that it calls. */
  readonly gradMode?: boolean | undefined;
  /** Set in a frame that `deviceGuard` called, and in those that it calls: its device, which the VM only passes on, or null for none. */
  readonly guard?: object | null | undefined;
  /** The caller's register that gets the result; undefined in the outermost frame. */
  readonly returnTo?: Reg | undefined;
}

export function newFrame(
  closure: Closure,
  thisValue: unknown,
  args: readonly unknown[],
  returnTo?: Reg,
): Frame {
  const registers = blankRegisters(closure.code.registerCount);
  return { closure, pc: 0, registers, thisValue, args, newTarget: undefined, returnTo };
}

const blanks: Record<number, unknown[]> = Object.create(null);
const { apply, defineProperty } = Reflect;
const listed = (...values: unknown[]): unknown[] => values;

const nothing = {
  __proto__: null,
  value: undefined,
  writable: true,
  enumerable: true,
  configurable: true,
} as PropertyDescriptor;

/** Arguments lie on the engine's stack. */
const mostListed = 5000;

/**
 * Registers before anything is in them. The list of a call is a new array in which nothing that user
 * code has put on prototypes is seen, and of one kind for the engine.
 */
export function blankRegisters(count: number): unknown[] {
  // A literal is made several times faster than the list of a call, and most functions are small.
  const u = undefined;
  switch (count) {
    case 1:
      return [u];
    case 2:
      return [u, u];
    case 3:
      return [u, u, u];
    case 4:
      return [u, u, u, u];
    case 5:
      return [u, u, u, u, u];
    case 6:
      return [u, u, u, u, u, u];
    case 7:
      return [u, u, u, u, u, u, u];
    case 8:
      return [u, u, u, u, u, u, u, u];
    default:
      return listedRegisters(count);
  }
}

function listedRegisters(count: number): unknown[] {
  const blank = blanks[count];
  if (blank) return apply(listed, undefined, blank) as unknown[];
  if (count > mostListed) return new Array<unknown>(count).fill(undefined);
  const made: unknown[] = [];
  blanks[count] = made;
  for (let i = 0; i < count; i++) defineProperty(made, i, nothing);
  return listedRegisters(count);
}
