import type { AnonymousClassDeclaration, ClassDeclaration, ClassExpression } from 'acorn';
import type { SourceText } from '../../vm/bytecode/code.ts';
import type { PrivateAccess, Scope } from '../../vm/bytecode/frame.ts';
import type { FunctionNode } from '../../vm/syntax/function-node.ts';
import type { AnyFunction, CaptureRoute } from './route.ts';

export type { FunctionNode } from '../../vm/syntax/function-node.ts';
export type { AnyFunction, CaptureRoute } from './route.ts';

export type ClassNode = ClassDeclaration | AnonymousClassDeclaration | ClassExpression;

/** A function as the compiler sees it: what it says, and the variables that surround it, live. */
export interface CapturedFunction {
  /** Never a bound function: the target behind all `bind` calls. */
  readonly fn: AnyFunction;
  readonly route: CaptureRoute;
  /** The name in the user's text; a minifier may have left another in `fn.name`. */
  readonly name: string;
  /**
   * For methods, getters and setters the FunctionExpression that is the value of the definition.
   * A class without a constructor has a synthetic one that says what the language says.
   */
  readonly node: FunctionNode;
  readonly kind: 'function' | 'arrow' | 'method' | 'constructor';
  /** Only for constructors: the class itself (fields, super class). */
  readonly classNode?: ClassNode;
  readonly source: SourceText;
  readonly scope: Scope;
  /** Every free name of the function and of those inside it. */
  readonly freeNames: readonly string[];
  /** For arrows that use `this`: the `this` of the place where the arrow was made. */
  readonly thisValue?: { readonly value: unknown };
  /** For methods that use `super`, where it can be found; else see `findHomeObject`. */
  readonly homeObject?: object;
  readonly bound?: { readonly thisValue: unknown; readonly args: readonly unknown[] };
  readonly strict: boolean;
  /** `name` without `#`. Undefined where only the printed text is known. */
  privateName?(name: string): PrivateAccess;
}
