import type { AnyNode } from 'acorn';
import { visitTarget } from '../../vm/syntax/patterns.ts';
import { reference, type ScopeContext } from './scope-context.ts';
import type { ScriptWalk } from './script-walk.ts';

/** Visits the target of an assignment or declaration. Nested defaults and keys are ordinary reads. */
export function analyzeTarget(
  { visit }: ScriptWalk,
  target: AnyNode,
  context: ScopeContext,
  how: 'assign' | 'bind' | 'declare',
): void {
  visitTarget(
    target,
    ({ name }) => reference(name, context, how),
    (expression) => visit(expression, context),
  );
}
