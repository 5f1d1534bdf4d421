import type { Code } from '../../vm/bytecode/code.ts';
import type { Closure } from '../../vm/bytecode/frame.ts';
import type { CellReference, FunctionVariable, NewObjectVariable, Variable } from './variable.ts';

/** Variables for functions and classes. */

/** A function created in the trace: its code and the cells it captures. */
export interface ClosureVariable {
  readonly kind: 'closure';
  readonly code: Code;
  /** The closure that created it, which provides its free variables and, for arrows, `super`. */
  readonly outer: Omit<Closure, 'cells'>;
  readonly cells: readonly CellReference[];
  /** Set by `Object.defineProperty`, which bundlers use to preserve function names. */
  name?: string;
  /** The `this` value that an arrow captures. */
  readonly thisVariable: Variable;
  /** The home object of a method that uses `super`, if its class or literal was created in the trace. */
  readonly home?: Variable;
  /** The `new.target` that an arrow in a constructor captures. */
  readonly newTarget?: Variable;
}

/**
 * A class created in the trace. It must not escape: if the class or an instance would, the class is created
 * natively (`made-classes.ts`).
 */
export interface ClassVariable {
  readonly kind: 'class';
  /** The constructor. */
  readonly code: Code;
  readonly outer: Omit<Closure, 'cells'>;
  readonly cells: readonly CellReference[];
  readonly name: string;
  /** The superclass; null if there is none. */
  readonly parent: FunctionVariable | ClassVariable | null;
  readonly prototype: NewObjectVariable;
  /** The class's own properties. */
  readonly statics: NewObjectVariable;
  /** Initializes the fields of a new instance. */
  fields?: ClosureVariable;
}

/** The private name `#name` of a class created in the trace. */
export interface MadePrivateName {
  readonly description: string;
  /** The objects that have the name, in V8's words: `an instance of class A`. */
  readonly owner: string;
  /** The method, or the accessor's halves, that all instances share; null for a field. */
  shared: {
    readonly value: Variable | null;
    readonly get: Variable | null;
    readonly set: Variable | null;
  } | null;
}
