/**
 * The register bytecode: what a user function becomes after lowering.
 *
 * Temporaries are registers, loops are jumps. Every instruction has the offsets of the expression it
 * came from, so that an error, a guard or a graph break can name file, line and column. The state of
 * a suspended function is `(code, pc, registers)`, which is why a graph break needs no special case.
 */

import type { Intrinsic } from './intrinsics.ts';

declare const regBrand: unique symbol;
/** Index of a register in a frame. */
export type Reg = number & { readonly [regBrand]: 'Reg' };
export const reg = (index: number): Reg => index as Reg;

/** Index of an instruction in `Code.instructions`. */
export type Pc = number;

export type Primitive = string | number | bigint | boolean | null | undefined;

export type UnaryOperator = '-' | '+' | '!' | '~' | 'typeof' | 'void';
// biome-ignore format: one line per precedence group reads better
export type BinaryOperator =
  | '==' | '!=' | '===' | '!==' | '<' | '<=' | '>' | '>='
  | '+' | '-' | '*' | '/' | '%' | '**' | '<<' | '>>' | '>>>' | '|' | '^' | '&'
  | 'in' | 'instanceof';

/**
 * One instruction. Operand fields are registers unless they are typed otherwise; `dst` is written,
 * all other registers are read. `effects.ts` states reads, writes and effect per opcode.
 */
export type Instruction =
  // Values
  | { op: 'const'; dst: Reg; value: Primitive }
  | { op: 'regexp'; dst: Reg; pattern: string; flags: string }
  | { op: 'move'; dst: Reg; src: Reg }
  /** Marks a `let`, `const` or parameter as not initialised; only where a `checkInitialized` may see it. */
  | { op: 'uninitialized'; dst: Reg }
  /** Throws the ReferenceError of a `let`/`const`/`class` read before its initialisation. */
  | { op: 'checkInitialized'; src: Reg; name: string }
  // The call's own inputs
  | { op: 'arg'; dst: Reg; index: number }
  | { op: 'restArgs'; dst: Reg; from: number }
  | { op: 'this'; dst: Reg }
  | { op: 'newTarget'; dst: Reg }
  /** The `arguments` object, made once, at the start: `mapped` shares its elements with the parameters. */
  | { op: 'arguments'; dst: Reg; mapped: boolean }
  /** The variable of parameter number `index`, which a mapped `arguments` object shares: a cell. */
  | { op: 'parameterCell'; dst: Reg; arguments: Reg; index: number }
  // Names of the function's surroundings: closure variables, imports, globals (through the live scope)
  | { op: 'loadFree'; dst: Reg; name: string }
  | { op: 'storeFree'; name: string; src: Reg }
  /** `typeof name` of a free name: 'undefined' instead of a ReferenceError. */
  | { op: 'typeofFree'; dst: Reg; name: string }
  // Local variables that an inner closure captures live in cells; a loop makes a fresh one per iteration.
  // A new cell holds `uninitialized`; `loadCell` doesn't check, a `checkInitialized` follows where needed.
  | { op: 'newCell'; dst: Reg; name: string }
  | { op: 'loadCell'; dst: Reg; cell: Reg; name: string }
  | { op: 'storeCell'; cell: Reg; src: Reg; name: string }
  /** Cell number `index` of those that this closure captured from the enclosing function. */
  | { op: 'outerCell'; dst: Reg; index: number }
  /**
   * Makes a function from `Code.inner[code]`; `cells[i]` becomes its outer cell number i. An arrow also
   * takes the running frame's `this` and home object. `nameFrom`: a property key that names the
   * function at run time (`{ [key]: () => 1 }`). `home`: the object that a method is defined on, where
   * it needs that for `super`.
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
  /** Makes a class from its constructor's code, without elements; a derived one extends `parent`. */
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
  /** ToNumeric, for `x++` whose value is the old number. */
  | { op: 'toNumeric'; dst: Reg; src: Reg }
  /** ToNumeric(src) + by, in the type of src: `x++` of a BigInt stays one. */
  | { op: 'increment'; dst: Reg; src: Reg; by: 1 | -1 }
  /** ToPropertyKey, where a computed key is converted before a later expression runs. */
  | { op: 'toPropertyKey'; dst: Reg; src: Reg }
  /**
   * Template string: strings[0] + values[0] + strings[1] + … with ToString of each value. `inner`: the text of one
   * value, of which a template makes its own.
   */
  | {
      op: 'template';
      dst: Reg;
      strings: readonly string[];
      values: readonly Reg[];
      inner?: true;
    }
  /** The strings of a tagged template: the same object each time. Invalid escapes are undefined. */
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
  /** An own data property of an object literal (no setter runs). */
  | { op: 'defineProp'; object: Reg; key: Reg; src: Reg }
  /** A getter or setter of an object literal; names the function by the key. */
  | { op: 'defineAccessor'; object: Reg; key: Reg; accessor: 'get' | 'set'; src: Reg }
  /** `__proto__: src` in an object literal: does nothing unless it is an object or null. */
  | { op: 'setPrototype'; object: Reg; src: Reg }
  | { op: 'objectSpread'; object: Reg; source: Reg }
  /** `{ a, ...rest } = source`: a new object without the keys in `excluded`. */
  | { op: 'objectRest'; dst: Reg; source: Reg; excluded: readonly Reg[] }
  /** Destructuring null or undefined: throws `Cannot destructure ${what} as it is undefined.` */
  | { op: 'requireObject'; src: Reg; what: string }
  // Calls. `receiver: null` means `undefined` as `this`.
  | { op: 'call'; dst: Reg; callee: Reg; receiver: Reg | null; args: readonly Reg[] }
  | { op: 'callSpread'; dst: Reg; callee: Reg; receiver: Reg | null; args: Reg }
  | { op: 'construct'; dst: Reg; callee: Reg; args: readonly Reg[] }
  | { op: 'constructSpread'; dst: Reg; callee: Reg; args: Reg }
  /** `super.key`: looked up on the home object's prototype, with the frame's `this` as receiver. */
  | { op: 'getSuper'; dst: Reg; key: string }
  | { op: 'getSuperElem'; dst: Reg; key: Reg }
  /** A step of the language that is too rare for an opcode of its own; `intrinsics.ts` lists them. */
  | { op: 'intrinsic'; dst: Reg; name: Intrinsic; args: readonly Reg[] }
  // Generators: the frame is suspended at these, and what drives it continues at the next instruction.
  /** The end of the parameter list: the call returns, the body begins with the first `next`. */
  | { op: 'generatorStart' }
  /**
   * Hands `src` out; `dst` gets what `next` is called with. `throw` throws here, and `return` continues at
   * `target`, with a value in `dst` to return. `delegate`: yields what iterating `src` yields, `dst`
   * gets its result. `return`: the return of an async generator, which waits for `src`, then goes to
   * `target`.
   */
  | { op: 'yield'; dst: Reg; src: Reg; mode: 'yield' | 'delegate' | 'return'; target: Pc }
  /** Only in async code: the frame is suspended here until the value is there or the promise rejected. */
  | { op: 'await'; dst: Reg; src: Reg }
  // Iteration. The iterator register holds an iterator record. `iteratorNext` jumps when it is done, and
  // then leaves `dst` as it was; on a record that is done already it jumps without calling `next`.
  // `iteratorClose` does nothing to a record that is done. A throw that leaves a frame closes the
  // records that are still open in it, the innermost (highest register) first; one that is caught, those
  // that the try statement opened (`ProtectedRegion`).
  | { op: 'getIterator'; dst: Reg; iterable: Reg }
  /** The names that `for (… in object)` visits; none of null and undefined. */
  | { op: 'getKeyIterator'; dst: Reg; object: Reg }
  | { op: 'iteratorNext'; dst: Reg; iterator: Reg; done: Pc }
  /** Steps over an element whose value is not asked for; does nothing to a record that is done. */
  | { op: 'iteratorSkip'; iterator: Reg }
  | { op: 'iteratorClose'; iterator: Reg }
  // Control
  | { op: 'jump'; target: Pc }
  | { op: 'jumpIf'; test: Reg; target: Pc }
  | { op: 'jumpIfNot'; test: Reg; target: Pc }
  /** Jumps when the value is null or undefined (`??`, `?.`, defaults use `jumpIfNotUndefined`). */
  | { op: 'jumpIfNullish'; test: Reg; target: Pc }
  | { op: 'jumpIfNotUndefined'; test: Reg; target: Pc }
  | { op: 'return'; src: Reg }
  | { op: 'throw'; src: Reg };

export type Opcode = Instruction['op'];
export type InstructionOf<O extends Opcode> = Extract<Instruction, { op: O }>;

/** Half-open range of offsets in the script that a function came from. */
export interface Span {
  readonly start: number;
  readonly end: number;
}
