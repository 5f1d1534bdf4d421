import type { AnyNode } from 'acorn';
import { visitTarget } from '../../vm/syntax/patterns.ts';
import type { LexicalScope } from './bindings.ts';
import type { Walk } from './walk.ts';

/** Visits a pattern: its names are written; its defaults, keys and objects are read. */
export function analyzeTarget(
  { builder, visit }: Walk,
  target: AnyNode,
  scope: LexicalScope,
  how: 'assign' | 'declare',
): void {
  visitTarget(
    target,
    (name) => builder.use(name, scope, how),
    (expression) => visit(expression, scope),
  );
}
