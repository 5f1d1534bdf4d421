import type {
  AnyNode,
  ArrowFunctionExpression,
  BlockStatement,
  Class,
  ClassBody,
  ClassExpression,
  Expression,
  FunctionDeclaration,
  FunctionExpression,
  Node,
  Pattern,
  PropertyDefinition,
  SpreadElement,
  Statement,
  StaticBlock,
} from 'acorn';
import type { Span } from '../../vm/bytecode/instructions.ts';
import type { FunctionNode } from '../../vm/syntax/function-node.ts';

export { type FunctionNode, hasUseStrict, isFunctionNode } from '../../vm/syntax/function-node.ts';

/**
 * A node that becomes a separate Code: a function; a class without an explicit constructor (its default
 * constructor); a class body (the field initializer); a static field; a static block.
 */
export type FunctionLike = FunctionNode | Class | ClassBody | PropertyDefinition | StaticBlock;

export type Argument = Expression | SpreadElement;

export const spanOf = (node: Node): Span => ({ start: node.start, end: node.end });

export function isClass(node: AnyNode): node is AnyNode & Class {
  return node.type === 'ClassDeclaration' || node.type === 'ClassExpression';
}

/** Returns true for `() => 1`, `function () {}` and `class {}`, which are named by their position in the source. */
export function isAnonymousDefinition(
  node: AnyNode,
): node is FunctionExpression | ArrowFunctionExpression | ClassExpression {
  if (node.type === 'FunctionExpression' || node.type === 'ClassExpression') return !node.id;
  return node.type === 'ArrowFunctionExpression';
}

/** Returns the function that a statement declares, possibly after labels. */
export function declaredFunction(node: AnyNode): FunctionDeclaration | undefined {
  if (node.type === 'LabeledStatement') return declaredFunction(node.body);
  return node.type === 'FunctionDeclaration' && node.id ? node : undefined;
}

const blocks = new WeakMap<Node, BlockStatement>();

/** Sloppy mode: `if (x) function f() {}` means `if (x) { function f() {} }`. */
export function clause(node: Statement): Statement {
  if (!declaredFunction(node)) return node;
  let block = blocks.get(node);
  if (!block) {
    block = { type: 'BlockStatement', start: node.start, end: node.end, body: [node] };
    blocks.set(node, block);
  }
  return block;
}

/** True for `(x) = value`, where the value doesn't get the name. */
export const isParenthesized = (outer: Node, target: Node): boolean => outer.start < target.start;

/** Returns true if the parameter list runs code, so that its variables are separate from the body's. */
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

/** Returns `function.length`: the number of parameters before the first default or rest. */
export function expectedArguments(params: readonly Pattern[]): number {
  const first = params.findIndex(
    (param) => param.type === 'AssignmentPattern' || param.type === 'RestElement',
  );
  return first === -1 ? params.length : first;
}

/** Returns a non-computed property key, converted as the language does. */
export function staticKey(key: AnyNode): string | undefined {
  if (key.type === 'Identifier') return key.name;
  if (key.type !== 'Literal') return undefined;
  return key.bigint ?? String(key.value);
}
