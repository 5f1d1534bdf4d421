/**
 * The register bytecode that a user function is lowered to.
 *
 * Temporaries are registers; loops are jumps. Every instruction has the offsets of its source expression, so that
 * an error, a guard or a graph break can report file, line and column. The state of a suspended function is
 * `(code, pc, registers)`, which is why a graph break needs no special case.
 */

import type { Intrinsic } from './intrinsics.ts';

declare const regBrand: unique symbol;
/** The index of a register in a frame. */
export type Reg = number & { readonly [regBrand]: 'Reg' };
export const reg = (index: number): Reg => index as Reg;

/** The index of an instruction in `Code.instructions`. */
export type Pc = number;

export type Primitive = string | number | bigint | boolean | null | undefined;

export type UnaryOperator = '-' | '+' | '!' | '~' | 'typeof' | 'void';
// biome-ignore format: one line per precedence group reads better
export type BinaryOperator =
  | '==' | '!=' | '===' | '!==' | '<' | '<=' | '>' | '>='
  | '+' | '-' | '*' | '/' | '%' | '**' | '<<' | '>>' | '>>>' | '|' | '^' | '&'
  | 'in' | 'instanceof';

/**
 * An instruction. Operand fields are registers unless they have another type; `dst` is written, all other
 * registers are read. `effects.ts` states reads, writes and effects per opcode.
 */
export type Instruction =
  // Values
  | { op: 'const'; dst: Reg; value: Primitive }
  | { op: 'regexp'; dst: Reg; pattern: string; flags: string }
  | { op: 'move'; dst: Reg; src: Reg }
  /** Marks a `let`, `const` or parameter as uninitialized; only if a `checkInitialized` may see it. */
  | { op: 'uninitialized'; dst: Reg }
  /** Throws the ReferenceError for reading a `let`, `const` or `class` before its initialization. */
  | { op: 'checkInitialized'; src: Reg; name: string }
  // The call's own inputs
  | { op: 'arg'; dst: Reg; index: number }
  | { op: 'restArgs'; dst: Reg; from: number }
  | { op: 'this'; dst: Reg }
  | { op: 'newTarget'; dst: Reg }
  /** The `arguments` object, created once at the start. A mapped one shares its elements with the parameters. */
  | { op: 'arguments'; dst: Reg; mapped: boolean }
  /** The cell of parameter number `index`, which a mapped `arguments` object shares. */
  | { op: 'parameterCell'; dst: Reg; arguments: Reg; index: number }
  // Names outside the function: closure variables, imports, globals (through the live scope)
  | { op: 'loadFree'; dst: Reg; name: string }
  | { op: 'storeFree'; name: string; src: Reg }
  /** `typeof name` of a free name: 'undefined' instead of a ReferenceError. */
  | { op: 'typeofFree'; dst: Reg; name: string }
  // Local variables that an inner closure captures live in cells; a loop creates a new cell per iteration. A new
  // cell contains `uninitialized`; `loadCell` doesn't check, so a `checkInitialized` follows if needed.
  | { op: 'newCell'; dst: Reg; name: string }
  | { op: 'loadCell'; dst: Reg; cell: Reg; name: string }
  | { op: 'storeCell'; cell: Reg; src: Reg; name: string }
  /** The cell number `index` of those that this closure captured from the enclosing function. */
  | { op: 'outerCell'; dst: Reg; index: number }
  /**
   * Creates a function from `Code.inner[code]`; `cells[i]` becomes its outer cell number i. An arrow also captures
   * the running frame's `this` and home object. `nameFrom`: a property key that names the function at run time (`{
   * [key]: () => 1 }`). `home`: the home object of a method that needs it for `super`.
   */
  | {
      op: 'closure';
      dst: Reg;
      code: number;
      cells: readonly Reg[];
      name: string;
      nameFrom?: Reg;
      home?: Reg;
    }
  /** Creates a class without members from its constructor's code; a derived class extends `parent`. */
  | {
      op: 'class';
      dst: Reg;
      code: number;
      cells: readonly Reg[];
      name: string;
      nameFrom?: Reg;
      parent: Reg | null;
    }
  // Operators
  | { op: 'unary'; dst: Reg; operator: UnaryOperator; src: Reg }
  | { op: 'binary'; dst: Reg; operator: BinaryOperator; left: Reg; right: Reg }
  /** ToNumeric, for `x++` in an expression, whose value is the old number. */
  | { op: 'toNumeric'; dst: Reg; src: Reg }
  /** ToNumeric(src) + by, in the type of src: `x++` of a BigInt remains a BigInt. */
  | { op: 'increment'; dst: Reg; src: Reg; by: 1 | -1 }
  /** ToPropertyKey, if a computed key must be converted before a later expression runs. */
  | { op: 'toPropertyKey'; dst: Reg; src: Reg }
  /**
   * Template string: strings[0] + values[0] + strings[1] + … with ToString of each value. `inner`: the text of a
   * single value, which an enclosing template converts.
   */
  | {
      op: 'template';
      dst: Reg;
      strings: readonly string[];
      values: readonly Reg[];
      inner?: true;
    }
  /**
   * The strings object of a tagged template, which is the same object each time. Invalid escapes are undefined.
   */
  | {
      op: 'templateObject';
      dst: Reg;
      strings: readonly (string | undefined)[];
      raw: readonly string[];
    }
  // Objects
  | { op: 'getProp'; dst: Reg; object: Reg; key: string }
  | { op: 'setProp'; object: Reg; key: string; src: Reg }
  | { op: 'getElem'; dst: Reg; object: Reg; key: Reg }
  | { op: 'setElem'; object: Reg; key: Reg; src: Reg }
  | { op: 'deleteProp'; dst: Reg; object: Reg; key: Reg }
  // `object.#name`, through the function's scope
  | { op: 'getPrivate'; dst: Reg; object: Reg; name: string }
  | { op: 'setPrivate'; object: Reg; name: string; src: Reg }
  /** `#name in object` */
  | { op: 'hasPrivate'; dst: Reg; object: Reg; name: string }
  | { op: 'newArray'; dst: Reg; elements: readonly Reg[] }
  | { op: 'arrayPush'; array: Reg; src: Reg }
  /** `[...iterable]`: appends every element. */
  | { op: 'arraySpread'; array: Reg; iterable: Reg }
  | { op: 'newObject'; dst: Reg }
  /** Defines an own data property of an object literal, without calling setters. */
  | { op: 'defineProp'; object: Reg; key: Reg; src: Reg }
  /** Defines a getter or setter of an object literal, and names the function after the key. */
  | { op: 'defineAccessor'; object: Reg; key: Reg; accessor: 'get' | 'set'; src: Reg }
  /** `__proto__: src` in an object literal: has no effect unless the value is an object or null. */
  | { op: 'setPrototype'; object: Reg; src: Reg }
  | { op: 'objectSpread'; object: Reg; source: Reg }
  /** `{ a, ...rest } = source`: creates an object without the keys in `excluded`. */
  | { op: 'objectRest'; dst: Reg; source: Reg; excluded: readonly Reg[] }
  /** Destructuring null or undefined: throws `Cannot destructure ${what} as it is undefined.` */
  | { op: 'requireObject'; src: Reg; what: string }
  // Calls. `receiver: null` means `undefined` as `this`.
  | { op: 'call'; dst: Reg; callee: Reg; receiver: Reg | null; args: readonly Reg[] }
  | { op: 'callSpread'; dst: Reg; callee: Reg; receiver: Reg | null; args: Reg }
  | { op: 'construct'; dst: Reg; callee: Reg; args: readonly Reg[] }
  | { op: 'constructSpread'; dst: Reg; callee: Reg; args: Reg }
  /** `super.key`: looked up in the home object's prototype, with the frame's `this` as receiver. */
  | { op: 'getSuper'; dst: Reg; key: string }
  | { op: 'getSuperElem'; dst: Reg; key: Reg }
  /** An operation of the language that is too rare for its own opcode; `intrinsics.ts` lists them. */
  | { op: 'intrinsic'; dst: Reg; name: Intrinsic; args: readonly Reg[] }
  // Generators: these instructions suspend the frame; its driver resumes it at the next instruction.
  /** The end of the parameter list: the call returns, and the body starts with the first `next`. */
  | { op: 'generatorStart' }
  /**
   * Yields `src`; `dst` receives the argument of `next`. `throw` throws here; `return` continues at `target` with
   * the value in `dst`, to return it. `delegate`: yields the values of iterating `src`, and `dst` receives the
   * result. `return`: the return of an async generator, which awaits `src` and then goes to `target`.
   */
  | { op: 'yield'; dst: Reg; src: Reg; mode: 'yield' | 'delegate' | 'return'; target: Pc }
  /** Only in async code: suspends the frame until the promise is settled. */
  | { op: 'await'; dst: Reg; src: Reg }
  // Iteration. The iterator register contains an iterator record. `iteratorNext` jumps when the iterator is done,
  // and then leaves `dst` unchanged; on a record that is already done, it jumps without calling `next`.
  // `iteratorClose` does nothing to a record that is done. An exception that leaves the frame closes the records
  // that are still open in it, the innermost (highest register) first; an exception that is caught closes those
  // that its try statement opened (`ProtectedRegion`).
  | { op: 'getIterator'; dst: Reg; iterable: Reg }
  /** Iterates over the names that `for (… in object)` visits; none for null and undefined. */
  | { op: 'getKeyIterator'; dst: Reg; object: Reg }
  | { op: 'iteratorNext'; dst: Reg; iterator: Reg; done: Pc }
  /** Skips an element whose value isn't needed; does nothing to a record that is done. */
  | { op: 'iteratorSkip'; iterator: Reg }
  | { op: 'iteratorClose'; iterator: Reg }
  // Control
  | { op: 'jump'; target: Pc }
  | { op: 'jumpIf'; test: Reg; target: Pc }
  | { op: 'jumpIfNot'; test: Reg; target: Pc }
  /** Jumps if the value is null or undefined (for `??` and `?.`; defaults use `jumpIfNotUndefined`). */
  | { op: 'jumpIfNullish'; test: Reg; target: Pc }
  | { op: 'jumpIfNotUndefined'; test: Reg; target: Pc }
  | { op: 'return'; src: Reg }
  | { op: 'throw'; src: Reg };

export type Opcode = Instruction['op'];
export type InstructionOf<O extends Opcode> = Extract<Instruction, { op: O }>;

/** A half-open range of offsets in the script that contains a function. */
export interface Span {
  readonly start: number;
  readonly end: number;
}
