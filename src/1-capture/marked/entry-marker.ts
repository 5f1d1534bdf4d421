import type { AnyNode, BlockStatement } from 'acorn';
import type { FunctionNode } from '../script/captured-function.ts';

/** The property whose read at the very beginning of a function says that the build plugin was here. */
export const markerProperty = '$tostatic';

/**
 * True when the first thing that the body of a function does is to read the marker. Minifiers turn
 * the plugin's `if` into conditions, sequences and returns; what runs first stays the leftmost part.
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

/** Returns the expression that is evaluated first by the first statement that does anything. */
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
