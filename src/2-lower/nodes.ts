import type {
  AnyNode,
  ArrowFunctionExpression,
  Expression,
  FunctionExpression,
  Node,
  Pattern,
  SpreadElement,
} from 'acorn';
import type { Span } from '../bytecode/instructions.ts';
import type { FunctionNode } from '../syntax/function-node.ts';

export type { FunctionNode } from '../syntax/function-node.ts';

export type Argument = Expression | SpreadElement;

export const spanOf = (node: Node): Span => ({ start: node.start, end: node.end });

export function isFunctionNode(node: AnyNode): node is FunctionNode {
  return (
    node.type === 'FunctionDeclaration' ||
    node.type === 'FunctionExpression' ||
    node.type === 'ArrowFunctionExpression'
  );
}

/** `() => 1` and `function () {}`: what takes its name from the place that it is written in. */
export function isAnonymousFunction(
  node: AnyNode,
): node is FunctionExpression | ArrowFunctionExpression {
  if (node.type === 'FunctionExpression') return !node.id;
  return node.type === 'ArrowFunctionExpression';
}

/** True when the parameter list runs code, so that it has variables apart from the body's. */
export function hasParameterExpressions(params: readonly Pattern[]): boolean {
  const hasExpression = (pattern: Pattern | null): boolean => {
    switch (pattern?.type) {
      case 'AssignmentPattern':
        return true;
      case 'RestElement':
        return hasExpression(pattern.argument);
      case 'ArrayPattern':
        return pattern.elements.some(hasExpression);
      case 'ObjectPattern':
        return pattern.properties.some((property) =>
          property.type === 'RestElement'
            ? hasExpression(property.argument)
            : property.computed || hasExpression(property.value),
        );
      default:
        return false;
    }
  };
  return params.some(hasExpression);
}

/** `function.length`: the parameters before the first default or rest. */
export function expectedArguments(params: readonly Pattern[]): number {
  const first = params.findIndex(
    (param) => param.type === 'AssignmentPattern' || param.type === 'RestElement',
  );
  return first === -1 ? params.length : first;
}

/** The key of a property that isn't computed, as the language converts it. */
export function staticKey(key: AnyNode): string | undefined {
  if (key.type === 'Identifier') return key.name;
  if (key.type !== 'Literal') return undefined;
  return key.bigint ?? String(key.value);
}
