import type { AnyNode, MemberExpression } from 'acorn';

const unnamed = '(intermediate value)';

/** Returns an expression as V8 names it in `… is not a function`, so that messages equal the native ones. */
export function expressionText(node: AnyNode): string {
  switch (node.type) {
    case 'Identifier':
      return node.name;
    case 'ThisExpression':
      return 'this';
    case 'Literal':
      if (typeof node.value === 'string') return `"${node.value}"`;
      if (node.bigint !== undefined) return unnamed;
      return node.regex ? `/${node.regex.pattern}/${node.regex.flags}` : String(node.value);
    case 'ChainExpression':
      return expressionText(node.expression);
    case 'MemberExpression':
      return `${expressionText(node.object)}${keyText(node)}`;
    case 'CallExpression':
      return `${expressionText(node.callee)}(...)`;
    case 'NewExpression':
      return `new ${expressionText(node.callee)}(...)`;
    case 'ArrayExpression':
      return `[${node.elements.map((item) => (item ? expressionText(item) : '')).join(',')}]`;
    case 'ObjectExpression':
      return `{${node.properties.map(() => unnamed).join('')}}`;
    case 'UnaryExpression': {
      const space = /[a-z]$/.test(node.operator) ? ' ' : '';
      return `(${node.operator}${space}${expressionText(node.argument)})`;
    }
    case 'BinaryExpression':
    case 'LogicalExpression':
      return `(${expressionText(node.left)} ${node.operator} ${expressionText(node.right)})`;
    case 'SequenceExpression':
      return `(${node.expressions.map(expressionText).join(' , ')})`;
    default:
      return unnamed;
  }
}

function keyText(node: MemberExpression): string {
  const { property, computed, optional } = node;
  if (property.type === 'PrivateIdentifier') return `${optional ? '?.' : ''}[#${property.name}]`;
  if (!computed && 'name' in property) return `${optional ? '?.' : '.'}${property.name}`;
  const key = expressionText(property);
  if (property.type === 'Literal' && typeof property.value === 'string') {
    return `${optional ? '?.' : '.'}${property.value}`;
  }
  return optional ? `?.[${key}]` : `[${key}]`;
}
