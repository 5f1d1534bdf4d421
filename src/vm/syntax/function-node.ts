import type {
  AnonymousFunctionDeclaration,
  ArrowFunctionExpression,
  FunctionDeclaration,
  FunctionExpression,
  Node,
  Program,
} from 'acorn';

/** `AnonymousFunctionDeclaration` is `export default function () {}`: a declaration with `id: null`. */
export type FunctionNode =
  | FunctionDeclaration
  | AnonymousFunctionDeclaration
  | FunctionExpression
  | ArrowFunctionExpression;

export function isFunctionNode(node: Node): node is FunctionNode {
  return (
    node.type === 'FunctionDeclaration' ||
    node.type === 'FunctionExpression' ||
    node.type === 'ArrowFunctionExpression'
  );
}

export function hasUseStrict({ body }: FunctionNode | Program): boolean {
  const block = 'type' in body && body.type === 'BlockStatement' ? body.body : body;
  return (
    Array.isArray(block) &&
    block.some((each) => each.type === 'ExpressionStatement' && each.directive === 'use strict')
  );
}
