import type { Code } from '../../vm/bytecode/code.ts';
import type { Closure } from '../../vm/bytecode/frame.ts';
import type { CellReference, FunctionVariable, NewObjectVariable, Variable } from './variable.ts';

/** Functions and classes as the tracer knows them. */

/** A function created in the trace: code and the cells that it shares with its surroundings. */
export interface ClosureVariable {
  readonly kind: 'closure';
  readonly code: Code;
  /** The closure that made it: its free names, and for arrows `super`, are those of its surroundings. */
  readonly outer: Omit<Closure, 'cells'>;
  readonly cells: readonly CellReference[];
  /** Given by Object.defineProperty, as bundlers do to keep the names of functions. */
  name?: string;
  /** Arrows see the `this` of the place where they were made. */
  readonly thisVariable: Variable;
  /** The object that a method with `super` is defined on, of a class or literal created in the trace. */
  readonly home?: Variable;
  /** The `new.target` that an arrow in a constructor sees. */
  readonly newTarget?: Variable;
}

/**
 * A class created in the trace, which doesn't leave it: where the class or an instance would, it is made natively
 * (`made-classes.ts`).
 */
export interface ClassVariable {
  readonly kind: 'class';
  /** Its constructor. */
  readonly code: Code;
  readonly outer: Omit<Closure, 'cells'>;
  readonly cells: readonly CellReference[];
  readonly name: string;
  /** The class that it extends; null: none. */
  readonly parent: FunctionVariable | ClassVariable | null;
  readonly prototype: NewObjectVariable;
  /** Its own properties. */
  readonly statics: NewObjectVariable;
  /** Gives a new instance its fields. */
  fields?: ClosureVariable;
}

/** `#name` of a class created in the trace. */
export interface MadePrivateName {
  readonly description: string;
  /** The objects that have it, in V8's words: `an instance of class A`. */
  readonly owner: string;
  /** The method, or the halves of the accessor, that all instances share; null: a field. */
  shared: {
    readonly value: Variable | null;
    readonly get: Variable | null;
    readonly set: Variable | null;
  } | null;
}
