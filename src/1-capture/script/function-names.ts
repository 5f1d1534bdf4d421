import type { AnyNode, Class, Program } from 'acorn';
import { childrenOf } from '../../vm/syntax/children.ts';
import { isFunctionNode } from '../../vm/syntax/function-node.ts';
import type { FunctionNode } from './captured-function.ts';

/**
 * Returns the names that the language infers for functions from their location; minifiers may have changed
 * `fn.name`. Computed keys give no names here.
 */
export function functionNames(ast: Program): ReadonlyMap<FunctionNode, string> {
  const names = new Map<FunctionNode, string>();
  const give = (value: AnyNode | null | undefined, name: string | undefined): void => {
    if (!value || name === undefined) return;
    if (isFunctionNode(value)) {
      const selfName =
        value.type === 'ArrowFunctionExpression' ? undefined : (value as FunctionNode).id;
      names.set(value as FunctionNode, selfName?.name ?? name);
    } else if (value.type === 'ClassExpression') nameConstructor(value, value.id?.name ?? name);
  };
  const nameConstructor = ({ body }: Class, name: string): void => {
    for (const member of body.body) {
      if (member.type === 'MethodDefinition' && member.kind === 'constructor') {
        names.set(member.value, name);
      }
    }
  };
  const visit = (node: AnyNode): void => {
    switch (node.type) {
      case 'FunctionDeclaration':
      case 'FunctionExpression':
        if (node.id) names.set(node, node.id.name);
        break;
      case 'ClassDeclaration':
        if (node.id) nameConstructor(node, node.id.name);
        break;
      case 'VariableDeclarator':
        give(node.init, nameOf(node.id));
        break;
      case 'AssignmentExpression':
      case 'AssignmentPattern':
        give(node.right, nameOf(node.left));
        break;
      case 'Property':
      case 'PropertyDefinition':
        if (!node.computed) give(node.value, nameOf(node.key));
        break;
      case 'MethodDefinition':
        if (!node.computed && node.kind !== 'constructor') give(node.value, nameOf(node.key));
        break;
      default:
    }
    for (const child of childrenOf(node)) visit(child);
  };
  visit(ast);
  return names;
}

function nameOf(node: AnyNode): string | undefined {
  switch (node.type) {
    case 'Identifier':
      return node.name;
    case 'PrivateIdentifier':
      return `#${node.name}`;
    case 'Literal':
      return String(node.value);
    default:
      return undefined;
  }
}
