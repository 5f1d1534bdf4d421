import type { AnyNode } from 'acorn';
import { childrenOf } from '../../vm/syntax/children.ts';
import { type FunctionNode, isClass, isFunctionNode } from './nodes.ts';
import { type LowerRefusal, type LowerRefusalReason, refuse } from './refusal.ts';

/** The context of a node that determines what is supported. */
interface NodeContext {
  /** True if `this`, `arguments` and `new.target` belong to the function around the captured arrow. */
  readonly outside: boolean;
  /** True in the captured method itself and its arrows, whose home object is found when it is captured. */
  readonly ownSuper: boolean;
  /** Private names of inner classes; undefined if the scope has access to all private names. */
  readonly privateNames: ReadonlySet<string> | undefined;
}

/**
 * Returns the first unsupported construct, in source order, of the function or an inner function. An inner
 * function that can't be lowered rejects the outer one, because it shares variables in registers and cells, which
 * native code can't reach.
 */
export function findRefusal(
  root: FunctionNode,
  privateNames: boolean,
  isScript = false,
): LowerRefusal | undefined {
  const context: NodeContext = {
    outside: root.type === 'ArrowFunctionExpression' && !isScript,
    ownSuper: true,
    privateNames: privateNames ? undefined : new Set<string>(),
  };
  return visitChildren(root, context);
}

/**
 * Returns the first unsupported construct in the text of a constructor, where `super()` is allowed, or of a
 * field's value.
 */
export function findConstructionRefusal(
  node: AnyNode,
  privateNames: boolean,
): LowerRefusal | undefined {
  return visit(node, {
    outside: false,
    ownSuper: false,
    privateNames: privateNames ? undefined : new Set<string>(),
  });
}

function visit(node: AnyNode, context: NodeContext): LowerRefusal | undefined {
  const reason = reasonAgainst(node, context);
  if (reason) return refuse(reason, node);
  return visitChildren(node, contextIn(node, context));
}

function visitChildren(node: AnyNode, context: NodeContext): LowerRefusal | undefined {
  for (const child of expressionChildren(node)) {
    const refusal = visit(child, context);
    if (refusal) return refusal;
  }
  return undefined;
}

/** Returns the child nodes other than property names: `x.arguments` is harmless. */
function expressionChildren(node: AnyNode): Iterable<AnyNode> {
  if (node.type === 'MemberExpression' && !node.computed) {
    return node.property.type === 'PrivateIdentifier'
      ? [node.object, node.property]
      : [node.object];
  }
  if (node.type === 'Property' && !node.computed) return [node.value];
  if (node.type === 'MethodDefinition' && !node.computed) return [node.value];
  if (node.type === 'PropertyDefinition' && !node.computed) return node.value ? [node.value] : [];
  if (node.type === 'MetaProperty') return [];
  return childrenOf(node);
}

function contextIn(node: AnyNode, context: NodeContext): NodeContext {
  if (isClass(node)) {
    if (!context.privateNames) return context;
    const names = new Set(context.privateNames);
    for (const element of node.body.body) {
      if (element.type === 'StaticBlock' || element.key.type !== 'PrivateIdentifier') continue;
      names.add(element.key.name);
    }
    return { ...context, privateNames: names };
  }
  const isInner = isFunctionNode(node) && node.type !== 'ArrowFunctionExpression';
  const isElement = node.type === 'PropertyDefinition' || node.type === 'StaticBlock';
  return isInner || isElement ? { ...context, outside: false, ownSuper: false } : context;
}

function reasonAgainst(node: AnyNode, context: NodeContext): LowerRefusalReason | undefined {
  switch (node.type) {
    case 'WithStatement':
      return 'with';
    case 'VariableDeclaration':
      return node.kind === 'await using' ? 'await-using' : undefined;
    case 'PrivateIdentifier':
      return !context.privateNames || context.privateNames.has(node.name)
        ? undefined
        : 'private-name';
    case 'ImportExpression':
      return 'dynamic-import';
    case 'Identifier':
      return node.name === 'arguments' && context.outside ? 'arguments' : undefined;
    case 'MetaProperty':
      if (node.meta.name === 'import') return 'dynamic-import';
      return context.outside ? 'new-target' : undefined;
    case 'CallExpression':
      // The class around the captured function can't be reached.
      if (node.callee.type === 'Super') return context.ownSuper ? 'super' : undefined;
      if (node.callee.type !== 'Identifier') return undefined;
      if (node.callee.name === '__generator') return 'es5-generator';
      return node.callee.name === 'eval' && !node.optional ? 'direct-eval' : undefined;
    default:
      return undefined;
  }
}
