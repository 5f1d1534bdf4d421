import type { AnyNode, Pattern } from 'acorn';
import { type Place, reference } from './place.ts';
import type { ScriptWalk } from './script-walk.ts';

/** Visits the target of an assignment or declaration. Nested defaults and keys are ordinary reads. */
export function analyzeTarget(
  walk: ScriptWalk,
  target: Pattern | AnyNode,
  place: Place,
  how: 'assign' | 'bind' | 'declare',
): void {
  switch (target.type) {
    case 'Identifier':
      reference(target.name, place, how);
      return;
    case 'ObjectPattern':
      for (const property of target.properties) {
        if (property.type === 'RestElement') analyzeTarget(walk, property.argument, place, how);
        else {
          if (property.computed) walk.visit(property.key, place);
          analyzeTarget(walk, property.value, place, how);
        }
      }
      return;
    case 'ArrayPattern':
      for (const element of target.elements) if (element) analyzeTarget(walk, element, place, how);
      return;
    case 'AssignmentPattern':
      walk.visit(target.right, place);
      analyzeTarget(walk, target.left, place, how);
      return;
    case 'RestElement':
      analyzeTarget(walk, target.argument, place, how);
      return;
    default:
      walk.visit(target, place);
      return;
  }
}
