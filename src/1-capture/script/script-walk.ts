import type { AnyNode } from 'acorn';
import type { FunctionBoundary, FunctionFacts } from './binding.ts';
import type { ClassNode } from './captured-function.ts';
import type { ScopeContext } from './scope-context.ts';

/** The walk over a script: its findings, and how it visits a node. */
export interface ScriptWalk {
  readonly functions: FunctionFacts[];
  /** All classes, as the functions that initialize their fields. */
  readonly classes: Map<ClassNode, FunctionBoundary>;
  visit(node: AnyNode | null | undefined, context: ScopeContext): void;
}
