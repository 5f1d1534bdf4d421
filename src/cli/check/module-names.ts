import type { AnyNode, Program } from 'acorn';
import { childrenOf } from '../../vm/syntax/children.ts';

/** The names that a module declares anywhere, and those that it reads or writes. */
interface ModuleNames {
  readonly declared: ReadonlySet<string>;
  readonly used: ReadonlySet<string>;
}

/** Collects names without regard to scopes: a name that is declared twice counts once. */
export function namesOf(program: Program): ModuleNames {
  const declared = new Set<string>();
  const used = new Set<string>();
  const visit = (node: AnyNode): void => {
    const binding = new Set<AnyNode>(bindingsOf(node));
    const unread = new Set<AnyNode>(labelsOf(node));
    for (const child of childrenOf(node)) {
      if (unread.has(child)) continue;
      if (binding.has(child)) declare(child);
      else visit(child);
    }
    if (node.type === 'Identifier') used.add(node.name);
  };
  const declare = (pattern: AnyNode): void => {
    if (pattern.type === 'Identifier') declared.add(pattern.name);
    else if (pattern.type === 'AssignmentPattern') {
      declare(pattern.left);
      visit(pattern.right);
    } else if (pattern.type === 'Property') {
      if (pattern.computed) visit(pattern.key);
      declare(pattern.value);
    } else for (const part of childrenOf(pattern)) declare(part);
  };
  visit(program);
  return { declared, used };
}

/** The children of a node that declare names. */
function bindingsOf(node: AnyNode): readonly AnyNode[] {
  switch (node.type) {
    case 'VariableDeclarator':
      return [node.id];
    case 'FunctionDeclaration':
    case 'FunctionExpression':
      return node.id ? [node.id, ...node.params] : node.params;
    case 'ArrowFunctionExpression':
      return node.params;
    case 'ClassDeclaration':
    case 'ClassExpression':
      return node.id ? [node.id] : [];
    case 'CatchClause':
      return node.param ? [node.param] : [];
    case 'ImportSpecifier':
    case 'ImportDefaultSpecifier':
    case 'ImportNamespaceSpecifier':
      return [node.local];
    default:
      return [];
  }
}

/** The children of a node that are names of properties, exports and labels rather than of variables. */
function labelsOf(node: AnyNode): readonly AnyNode[] {
  switch (node.type) {
    case 'MemberExpression':
      return node.computed ? [] : [node.property];
    case 'Property':
      return node.computed || node.shorthand ? [] : [node.key];
    case 'MethodDefinition':
    case 'PropertyDefinition':
      return node.computed ? [] : [node.key];
    case 'ImportSpecifier':
      return node.imported === node.local ? [] : [node.imported];
    case 'ExportSpecifier':
      return node.exported === node.local ? [] : [node.exported];
    case 'LabeledStatement':
    case 'BreakStatement':
    case 'ContinueStatement':
      return node.label ? [node.label] : [];
    case 'MetaProperty':
      return [node.meta, node.property];
    default:
      return [];
  }
}
