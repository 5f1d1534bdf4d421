import type { AnonymousClassDeclaration, ClassDeclaration, ClassExpression } from 'acorn';
import type { Code, SourceText } from '../../vm/bytecode/code.ts';
import type { PrivateAccess, Scope } from '../../vm/bytecode/frame.ts';
import type { FunctionNode } from '../../vm/syntax/function-node.ts';
import type { AnyFunction, CaptureRoute } from './route.ts';

export type { FunctionNode } from '../../vm/syntax/function-node.ts';
export type { AnyFunction, CaptureRoute } from './route.ts';

export type ClassNode = ClassDeclaration | AnonymousClassDeclaration | ClassExpression;

export interface FunctionSyntax {
  /**
   * For methods, getters and setters, the FunctionExpression that is the definition's value. A class without a
   * constructor has a synthetic node that equals the language's implicit constructor.
   */
  readonly node: FunctionNode;
  /** For constructors: the class itself (fields, superclass). */
  readonly classNode: ClassNode | undefined;
}

/** A function as the compiler sees it: its source, and its live outer variables. */
export interface CapturedFunction {
  /** The target of all `bind` calls, never a bound function. */
  readonly fn: AnyFunction;
  readonly route: CaptureRoute;
  /** The name in the user's source; a minifier may have changed `fn.name`. */
  readonly name: string;
  readonly kind: 'function' | 'arrow' | 'method' | 'constructor';
  readonly source: SourceText;
  /** The function's offset in the source. */
  readonly start: number;
  /** Returns the function's syntax, always the same object for one position; parses it if necessary. */
  syntax(): FunctionSyntax;
  /**
   * Returns the function's bytecode if its module contains it, always the same object for one position. `lower`: lowers
   * the syntax, for parts that the module doesn't contain.
   */
  readonly code?: ((lower: () => Code) => Code) | undefined;
  readonly scope: Scope;
  /** All free names of the function and its inner functions. */
  readonly freeNames: readonly string[];
  /** The `this` that an arrow captures, if it uses one. */
  readonly thisValue?: { readonly value: unknown };
  /** For methods that use `super`, if it can be found; otherwise see `findHomeObject`. */
  readonly homeObject?: object;
  readonly bound?: { readonly thisValue: unknown; readonly args: readonly unknown[] };
  readonly strict: boolean;
  /** `name` without `#`. Omitted if only the printed text is known. */
  privateName?(name: string): PrivateAccess;
}
