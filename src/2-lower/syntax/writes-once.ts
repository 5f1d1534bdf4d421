import type { Expression } from 'acorn';

/**
 * Returns true if only the last instruction of the expression writes the result. `x = f(x)` can then be computed
 * directly into the register of x.
 */
export function writesOnce(node: Expression): boolean {
  switch (node.type) {
    case 'Literal':
    case 'Identifier':
    case 'ThisExpression':
    case 'AwaitExpression':
    case 'TemplateLiteral':
    case 'BinaryExpression':
    case 'UnaryExpression':
    case 'MemberExpression':
    case 'CallExpression':
    case 'NewExpression':
    case 'ArrowFunctionExpression':
    case 'FunctionExpression':
      return true;
    default:
      return false;
  }
}
