import type { AnyNode } from 'acorn';
import { childrenOf } from '../syntax/children.ts';
import { type FunctionNode, isFunctionNode } from './nodes.ts';
import { type LowerRefusal, type LowerRefusalReason, refuse } from './refusal.ts';

/** What surrounds a node, as far as it decides what is supported. */
interface Surroundings {
  /** The innermost function around the node. */
  readonly fn: FunctionNode;
  readonly strict: boolean;
  /** `super` is that of the captured method: true in it and in its arrows. */
  readonly ownSuper: boolean;
  readonly ownNewTarget: boolean;
  /** The scope has access to them. */
  readonly privateNames: boolean;
  /** `arguments` is that of a function in strict code. */
  readonly ownArguments: boolean;
}

/**
 * The first construct, in source order, of the function or of a function inside it that lowering
 * doesn't know. An inner function that isn't lowerable refuses the outer one: it shares variables
 * with it, which live in registers and cells that native code can't reach.
 */
export function findRefusal(
  root: FunctionNode,
  strict: boolean,
  privateNames: boolean,
): LowerRefusal | undefined {
  const ownNewTarget = root.type !== 'ArrowFunctionExpression';
  const isStrict = strict || hasUseStrict(root);
  const ownArguments = ownNewTarget && isStrict;
  const place = {
    fn: root,
    strict: isStrict,
    ownSuper: true,
    ownNewTarget,
    ownArguments,
    privateNames,
  };
  const reason = reasonAgainst(root, place);
  return reason ? refuse(reason, root) : visitChildren(root, place);
}

export function hasUseStrict(node: FunctionNode): boolean {
  if (node.body.type !== 'BlockStatement') return false;
  return node.body.body.some(
    (statement) => 'directive' in statement && statement.directive === 'use strict',
  );
}

function visit(node: AnyNode, place: Surroundings): LowerRefusal | undefined {
  const reason = reasonAgainst(node, place);
  if (reason) return refuse(reason, node);
  return visitChildren(node, isFunctionNode(node) ? surroundingsIn(node, place) : place);
}

function visitChildren(node: AnyNode, place: Surroundings): LowerRefusal | undefined {
  for (const child of expressionChildren(node)) {
    const refusal = visit(child, place);
    if (refusal) return refusal;
  }
  return undefined;
}

/** The child nodes without names that aren't variables: `x.arguments` is harmless. */
function expressionChildren(node: AnyNode): Iterable<AnyNode> {
  if (node.type === 'MemberExpression' && !node.computed) {
    return node.property.type === 'PrivateIdentifier' ? [node.property] : [node.object];
  }
  if (node.type === 'Property' && !node.computed) return [node.value];
  if (node.type === 'MetaProperty') return [];
  return childrenOf(node);
}

function surroundingsIn(fn: FunctionNode, place: Surroundings): Surroundings {
  const strict = place.strict || hasUseStrict(fn);
  if (fn.type === 'ArrowFunctionExpression') return { ...place, fn, ownNewTarget: false, strict };
  const { privateNames } = place;
  return { fn, strict, ownSuper: false, ownNewTarget: true, ownArguments: strict, privateNames };
}

function reasonAgainst(node: AnyNode, place: Surroundings): LowerRefusalReason | undefined {
  if (writtenNodes(node).some(isSuperMember)) return 'super';
  switch (node.type) {
    case 'FunctionDeclaration':
    case 'FunctionExpression':
    case 'ArrowFunctionExpression':
      return node.generator ? 'generator' : undefined;
    case 'ForOfStatement':
      return node.await ? 'for-await' : undefined;
    case 'WithStatement':
      return 'with';
    case 'ClassDeclaration':
    case 'ClassExpression':
      return 'class';
    case 'VariableDeclaration':
      return node.kind === 'using' || node.kind === 'await using' ? 'using' : undefined;
    case 'PrivateIdentifier':
      return place.privateNames ? undefined : 'private-name';
    case 'ImportExpression':
      return 'dynamic-import';
    case 'Identifier':
      return node.name === 'arguments' && !place.ownArguments ? 'arguments' : undefined;
    case 'MetaProperty':
      if (node.meta.name === 'import') return 'dynamic-import';
      return place.ownNewTarget ? undefined : 'new-target';
    case 'CallExpression':
      if (node.callee.type === 'Super') return 'super';
      if (node.callee.type !== 'Identifier') return undefined;
      return node.callee.name === 'eval' ? 'direct-eval' : undefined;
    case 'MemberExpression':
      if (node.object.type !== 'Super') return undefined;
      return place.ownSuper ? undefined : 'super';
    case 'UnaryExpression':
      if (node.operator !== 'delete') return undefined;
      return node.argument.type === 'Identifier' ? 'delete-variable' : undefined;
    case 'BlockStatement':
      return node === place.fn.body ? undefined : reasonAgainstBlock(node.body, place);
    case 'SwitchCase':
      return reasonAgainstBlock(node.consequent, place);
    case 'IfStatement':
      return reasonAgainstBlock([node.consequent, node.alternate], place);
    case 'LabeledStatement':
      return reasonAgainstBlock([node.body], place);
    default:
      return undefined;
  }
}

/** In strict code a function in a block belongs to the block alone. */
function reasonAgainstBlock(
  statements: readonly (AnyNode | null | undefined)[],
  place: Surroundings,
): LowerRefusalReason | undefined {
  if (place.strict) return undefined;
  return statements.some((statement) => statement?.type === 'FunctionDeclaration')
    ? 'sloppy-function-in-block'
    : undefined;
}

/** The nodes that this node, as a target, assigns to or deletes. */
function writtenNodes(node: AnyNode): readonly (AnyNode | null)[] {
  switch (node.type) {
    case 'AssignmentExpression':
    case 'AssignmentPattern':
    case 'ForInStatement':
    case 'ForOfStatement':
      return [node.left];
    case 'UpdateExpression':
    case 'RestElement':
      return [node.argument];
    case 'UnaryExpression':
      return node.operator === 'delete' ? [node.argument] : [];
    case 'ArrayPattern':
      return node.elements;
    case 'ObjectPattern':
      return node.properties.map((property) => ('value' in property ? property.value : property));
    default:
      return [];
  }
}

function isSuperMember(node: AnyNode | null): boolean {
  return node?.type === 'MemberExpression' && node.object.type === 'Super';
}
