import type { AnyNode, BlockStatement } from 'acorn';
import type { FunctionNode } from '../script/captured-function.ts';

/** The property that an instrumented function reads at its very beginning. */
export const markerProperty = '$tostatic';

/**
 * Returns true if the body of a function starts with a read of the marker. Minifiers turn the plugin's `if` into
 * conditions, sequences and returns, but the part that runs first remains leftmost.
 */
export function beginsWithMarker({ body }: FunctionNode): boolean {
  let node = body.type === 'BlockStatement' ? firstExpression(body) : (body as AnyNode);
  while (node) {
    switch (node.type) {
      case 'ParenthesizedExpression':
        node = node.expression;
        break;
      case 'ConditionalExpression':
        node = node.test;
        break;
      case 'LogicalExpression':
        node = node.left;
        break;
      case 'SequenceExpression':
        node = node.expressions[0];
        break;
      case 'MemberExpression':
        return isMarker(node.property) && node.object.type !== 'Super';
      case 'UnaryExpression':
        if (node.operator !== '!') return false;
        node = node.argument;
        break;
      default:
        return false;
    }
  }
  return false;
}

const isMarker = (property: AnyNode): boolean =>
  (property.type === 'Identifier' && property.name === markerProperty) ||
  (property.type === 'Literal' && property.value === markerProperty);

/** Returns the expression that the first statement with an effect evaluates first. */
function firstExpression(block: BlockStatement): AnyNode | undefined {
  for (const statement of block.body) {
    switch (statement.type) {
      case 'FunctionDeclaration':
      case 'EmptyStatement':
        break;
      case 'VariableDeclaration': {
        const [initialized] = statement.declarations.filter(({ init }) => init);
        if (initialized) return undefined;
        break;
      }
      case 'ExpressionStatement':
        if (statement.directive === undefined) return statement.expression;
        break;
      case 'IfStatement':
        return statement.test;
      case 'ReturnStatement':
        return statement.argument ?? undefined;
      default:
        return undefined;
    }
  }
  return undefined;
}
