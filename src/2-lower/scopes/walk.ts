import type { AnyNode, FunctionDeclaration } from 'acorn';
import type { Binding, LexicalScope } from './bindings.ts';
import type { ScopeBuilder } from './scope-builder.ts';

/** Facts about the analyzed function that depend on its location. */
export interface AnalysisContext {
  readonly strict: boolean;
  /** True for the text of a script, whose variables and functions are global. */
  readonly script: boolean;
}

/** How a function is entered, apart from what its text shows. */
export interface FunctionEntry {
  /** The offset before which nothing can call the function. */
  readonly callableFrom: number | undefined;
  /** True for the constructor of a class that extends another. */
  readonly derived: boolean;
}

/** The walk over a function's tree: its results, and how it visits a node. */
export interface Walk {
  readonly builder: ScopeBuilder;
  readonly context: AnalysisContext;
  /** Functions in blocks that are also variables of their function, or global variables. */
  readonly hoisted: Map<FunctionDeclaration, Binding | undefined>;
  visit(node: AnyNode | null | undefined, scope: LexicalScope): void;
}
