import type { AnyNode, Pattern } from 'acorn';
import { reference, type ScopeContext } from './scope-context.ts';
import type { ScriptWalk } from './script-walk.ts';

/** Visits the target of an assignment or declaration. Nested defaults and keys are ordinary reads. */
export function analyzeTarget(
  walk: ScriptWalk,
  target: Pattern | AnyNode,
  context: ScopeContext,
  how: 'assign' | 'bind' | 'declare',
): void {
  switch (target.type) {
    case 'Identifier':
      reference(target.name, context, how);
      return;
    case 'ObjectPattern':
      for (const property of target.properties) {
        if (property.type === 'RestElement') analyzeTarget(walk, property.argument, context, how);
        else {
          if (property.computed) walk.visit(property.key, context);
          analyzeTarget(walk, property.value, context, how);
        }
      }
      return;
    case 'ArrayPattern':
      for (const element of target.elements)
        if (element) analyzeTarget(walk, element, context, how);
      return;
    case 'AssignmentPattern':
      walk.visit(target.right, context);
      analyzeTarget(walk, target.left, context, how);
      return;
    case 'RestElement':
      analyzeTarget(walk, target.argument, context, how);
      return;
    default:
      walk.visit(target, context);
      return;
  }
}
