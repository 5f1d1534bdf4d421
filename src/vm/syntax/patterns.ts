import type { AnyNode, Identifier, Pattern } from 'acorn';

/** A range of a source text. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** A name that a pattern binds, and the text in which it can't be initialized yet. */
export interface BoundName {
  readonly identifier: Identifier;
  /** Text after the name that runs before the name gets its value: defaults, and the value itself. */
  readonly except: readonly Range[];
}

/** Returns the names that a pattern binds, in order. */
export function boundNames(pattern: Pattern, except: readonly Range[] = []): BoundName[] {
  const names: BoundName[] = [];
  const visit = (node: AnyNode | null, outside: readonly Range[]): void => {
    switch (node?.type) {
      case 'Identifier':
        names.push({ identifier: node, except: outside });
        return;
      case 'AssignmentPattern':
        visit(node.left, [...outside, node.right]);
        return;
      case 'RestElement':
        visit(node.argument, outside);
        return;
      case 'ArrayPattern':
        for (const element of node.elements) visit(element, outside);
        return;
      case 'ObjectPattern':
        for (const property of node.properties) visit(property, outside);
        return;
      case 'Property':
        visit(node.value, outside);
    }
  };
  visit(pattern, except);
  return names;
}

export const patternNames = (pattern: Pattern): string[] =>
  boundNames(pattern).map(({ identifier }) => identifier.name);

/**
 * Visits the target of an assignment or declaration: `write` each name it writes; `read` its defaults, computed keys,
 * and the objects of its members.
 */
export function visitTarget(
  target: AnyNode | null,
  write: (name: Identifier) => void,
  read: (expression: AnyNode) => void,
): void {
  const visit = (node: AnyNode | null): void => {
    switch (node?.type) {
      case undefined:
        return;
      case 'Identifier':
        write(node);
        return;
      case 'AssignmentPattern':
        read(node.right);
        visit(node.left);
        return;
      case 'RestElement':
        visit(node.argument);
        return;
      case 'ArrayPattern':
        node.elements.forEach(visit);
        return;
      case 'ObjectPattern':
        node.properties.forEach(visit);
        return;
      case 'Property':
        if (node.computed) read(node.key);
        visit(node.value);
        return;
      default:
        read(node!);
    }
  };
  visit(target);
}
