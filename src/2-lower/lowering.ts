import type { AnyNode, Class, Expression, Pattern, Statement } from 'acorn';
import type { Code } from '../vm/bytecode/code.ts';
import type { Reg, Span } from '../vm/bytecode/instructions.ts';
import type { CodeBuilder, Label } from './code-builder.ts';
import type { JumpTargets } from './jump-targets.ts';
import type { Analysis } from './scopes/bindings.ts';
import type { FunctionLike } from './syntax/nodes.ts';
import type { Variables } from './variables.ts';

/**
 * Stores a value in a variable, property or pattern whose own expressions have already run. A default value goes into
 * the same register. `from`: the value's expression, or the parameter, for error messages; omitted inside another
 * pattern.
 */
export type Store = (value: Reg, span: Span, from?: AnyNode) => void;

/** A function or class that the code creates. */
export interface InnerFunction {
  readonly node: FunctionLike;
  readonly kind: Code['kind'];
  readonly name: string;
  /** The register of the property key that names it, if the name is only known at run time. */
  readonly nameFrom?: Reg | undefined;
  /** The home object of a method. */
  readonly home?: Reg | undefined;
  /** For classes: the parent. */
  readonly parent?: Reg | null | undefined;
  /** Emits the code that runs before parameters are bound. */
  readonly prologue?: ((inner: Lowering) => void) | undefined;
  /** Emits the body in place of the function's own text. */
  readonly body?: ((inner: Lowering) => void) | undefined;
  /** The function's `length`, if the parameters don't determine it. */
  readonly parameterCount?: number | undefined;
}

/**
 * The lowering of one function, as its parts see it. The file of each construct receives this object and calls the
 * others through it, which avoids import cycles.
 */
export interface Lowering {
  readonly code: CodeBuilder;
  readonly variables: Variables;
  readonly targets: JumpTargets;
  readonly analysis: Analysis;
  readonly kind: Code['kind'];
  readonly isAsync: boolean;
  readonly isGenerator: boolean;
  /** Where the enclosing optional chain continues if its object is null or undefined. */
  chainEnd: Label | undefined;

  /**
   * Evaluates the expression and returns its register: `dst` if given, else a variable's own register or a
   * temporary.
   */
  expression(node: Expression, dst?: Reg): Reg;
  /** Like `expression`, but in a register that doesn't change up to offset `until`. */
  operand(node: Expression, until: number): Reg;
  /** Returns the register, or a copy if its variable is written within this text. */
  stable(register: Reg, within: Span, span: Span): Reg;
  /** Like `expression`. An anonymous function or class gets this name, or that of the key. */
  named(node: Expression, name: string | Reg | undefined, dst?: Reg): Reg;
  /** Runs the expression and drops its value. */
  effect(node: Expression): void;
  /** Jumps to `target` if the value's truth equals `sense`; otherwise continues. */
  condition(node: Expression, target: Label, sense: boolean): void;
  statement(node: Statement): void;
  statements(nodes: readonly Statement[]): void;
  /** Evaluates the expressions within a target, and returns how to store to it. */
  target(node: Pattern, how: 'assign' | 'declare'): Store;
  /** Creates a function, or a class without elements. */
  closure(fn: InnerFunction, dst?: Reg): Reg;
  /** `name`: text, or the register of the key that names the class. */
  classOf(node: Class, name: string | Reg, dst?: Reg): Reg;
}

/** Lowers one type of expression; writes to `dst` if it is given. */
export type ExpressionRule<T extends AnyNode['type']> = (
  lowering: Lowering,
  node: Extract<Expression, { type: T }>,
  dst: Reg | undefined,
) => Reg;

export type StatementRule<T extends Statement['type']> = (
  lowering: Lowering,
  node: Extract<Statement, { type: T }>,
) => void;
