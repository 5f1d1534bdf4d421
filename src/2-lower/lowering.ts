import type { AnyNode, Class, Expression, Pattern, Statement } from 'acorn';
import type { Code } from '../vm/bytecode/code.ts';
import type { Reg, Span } from '../vm/bytecode/instructions.ts';
import type { CodeBuilder, Label } from './code-builder.ts';
import type { JumpTargets } from './jump-targets.ts';
import type { Analysis } from './scopes/bindings.ts';
import type { FunctionLike } from './syntax/nodes.ts';
import type { Variables } from './variables.ts';

/**
 * Takes a value into a variable, property or pattern whose own expressions have run already. A
 * default is put into the same register. `from`: the value's expression, or the parameter,
 * for error messages; omitted inside another pattern.
 */
export type Store = (value: Reg, span: Span, from?: AnyNode) => void;

/** How a function or class made by the code is called, and what its own code does. */
export interface InnerFunction {
  readonly node: FunctionLike;
  readonly kind: Code['kind'];
  readonly name: string;
  /** The property key that names it, when only the running program knows it. */
  readonly nameFrom?: Reg | undefined;
  /** The object that a method is defined on. */
  readonly home?: Reg | undefined;
  /** Classes: what it extends. */
  readonly parent?: Reg | null;
  /** Emits the code that runs before the parameters are taken. */
  readonly prologue?: ((inner: Lowering) => void) | undefined;
  /** Instead of the function's own text. */
  readonly body?: ((inner: Lowering) => void) | undefined;
  /** `length` of the function, if the parameters don't determine it. */
  readonly parameterCount?: number;
}

/**
 * The lowering of one function, as its parts see it: each construct's file gets this and calls the
 * others through it, so the files don't import one another in a circle.
 */
export interface Lowering {
  readonly code: CodeBuilder;
  readonly variables: Variables;
  readonly targets: JumpTargets;
  readonly analysis: Analysis;
  readonly kind: Code['kind'];
  readonly isAsync: boolean;
  readonly isGenerator: boolean;
  /** Where the optional chain around an expression goes when its object is null or undefined. */
  chainEnd: Label | undefined;

  /** The value's register: `dst` when given, else a variable's own register or a temporary. */
  expression(node: Expression, dst?: Reg): Reg;
  /** Like `expression`, in a register that nothing in the text up to `until` changes. */
  operand(node: Expression, until: number): Reg;
  /** The register, or a copy of it when it is a variable's that is written in this text. */
  stable(register: Reg, within: Span, span: Span): Reg;
  /** Like `expression`; a function or class without a name takes this one, or that of the key. */
  named(node: Expression, name: string | Reg | undefined, dst?: Reg): Reg;
  /** Runs the expression and drops its value. */
  effect(node: Expression): void;
  /** Jumps to `target` when the truth of the value is `sense`, else continues. */
  condition(node: Expression, target: Label, sense: boolean): void;
  statement(node: Statement): void;
  statements(nodes: readonly Statement[]): void;
  /** Runs the expressions inside a target, and tells how to store into it. */
  target(node: Pattern, how: 'assign' | 'declare'): Store;
  /** Makes a function, or a class without elements. */
  closure(fn: InnerFunction, dst?: Reg): Reg;
  /** `name`: text, or the register of the key that names it. */
  classOf(node: Class, name: string | Reg, dst?: Reg): Reg;
}

/** Lowers one type of expression; writes to `dst` when it is given. */
export type ExpressionRule<T extends AnyNode['type']> = (
  lowering: Lowering,
  node: Extract<Expression, { type: T }>,
  dst: Reg | undefined,
) => Reg;

export type StatementRule<T extends Statement['type']> = (
  lowering: Lowering,
  node: Extract<Statement, { type: T }>,
) => void;
