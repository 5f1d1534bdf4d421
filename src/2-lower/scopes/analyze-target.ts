import type { AnyNode } from 'acorn';
import type { LexicalScope } from './bindings.ts';
import type { Walk } from './walk.ts';

/** Visits a pattern: its names are written; its defaults, keys and objects are read. */
export function analyzeTarget(
  walk: Walk,
  node: AnyNode | null,
  scope: LexicalScope,
  how: 'assign' | 'declare',
): void {
  switch (node?.type) {
    case undefined:
      return;
    case 'Identifier':
      walk.builder.use(node, scope, how);
      return;
    case 'AssignmentPattern':
      analyzeTarget(walk, node.left, scope, how);
      walk.visit(node.right, scope);
      return;
    case 'RestElement':
      analyzeTarget(walk, node.argument, scope, how);
      return;
    case 'ArrayPattern':
      for (const element of node.elements) analyzeTarget(walk, element, scope, how);
      return;
    case 'ObjectPattern':
      for (const property of node.properties) analyzeTarget(walk, property, scope, how);
      return;
    case 'Property':
      if (node.computed) walk.visit(node.key, scope);
      analyzeTarget(walk, node.value, scope, how);
      return;
    default:
      walk.visit(node, scope);
  }
}
