import type { Expression } from 'acorn';

/**
 * True for expressions whose last instruction, and no other, writes the result: then `x = f(x)` can
 * be computed straight into the register of x.
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
