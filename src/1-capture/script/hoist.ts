import type { AnyNode, Pattern } from 'acorn';
import { statementsIn } from '../../vm/syntax/children.ts';
import { isFunctionNode } from '../../vm/syntax/function-node.ts';
import { patternNames } from '../../vm/syntax/patterns.ts';
import type { LexicalScope } from './binding.ts';

/** Declares the `var`s of a function body or program, which are visible from its start. */
export function hoistVars(statements: readonly AnyNode[], scope: LexicalScope): void {
  for (const statement of statements) hoistVarsOf(statement, scope, true);
}

function hoistVarsOf(node: AnyNode, scope: LexicalScope, topLevel: boolean): void {
  if (isFunctionNode(node)) {
    // In sloppy mode, a function is hoisted out of its block. It is treated as a changing variable.
    if (node.type === 'FunctionDeclaration' && !topLevel && node.id) {
      if (!isVisible(scope, node.id.name)) scope.declare(node.id.name, 'var').assignments++;
    }
    return;
  }
  if (node.type === 'VariableDeclaration' && node.kind === 'var') {
    for (const { id } of node.declarations) {
      for (const name of patternNames(id)) {
        // `function f(a) { var a; }`: the `var` is the parameter.
        if (!isVisible(scope, name)) scope.declare(name, 'var');
      }
    }
  }
  const exported =
    node.type === 'ExportNamedDeclaration' || node.type === 'ExportDefaultDeclaration';
  for (const child of statementsIn(node)) hoistVarsOf(child, scope, exported);
}

const isVisible = (scope: LexicalScope, name: string): boolean =>
  scope.bindings.has(name) || (scope.kind === 'body' && scope.parent?.bindings.has(name) === true);

/** Declares `let`, `const`, classes, functions and imports directly in a block. */
export function hoistLexical(statements: readonly AnyNode[], scope: LexicalScope): void {
  for (const statement of statements) {
    const node =
      (statement.type === 'ExportNamedDeclaration' ||
        statement.type === 'ExportDefaultDeclaration') &&
      statement.declaration
        ? statement.declaration
        : statement;
    switch (node.type) {
      case 'VariableDeclaration':
        if (node.kind !== 'var') declareVariables(node.kind, node.declarations, scope);
        break;
      case 'FunctionDeclaration':
        if (node.id) scope.declare(node.id.name, 'function');
        break;
      case 'ClassDeclaration':
        if (node.id) scope.declare(node.id.name, 'class');
        break;
      case 'ImportDeclaration':
        for (const { type, local } of node.specifiers) {
          const kind = type === 'ImportNamespaceSpecifier' ? 'namespace' : 'import';
          scope.declare(local.name, kind).from = String(node.source.value);
        }
        break;
      default:
    }
  }
}

export function declareVariables(
  kind: string,
  declarations: readonly { id: Pattern }[],
  scope: LexicalScope,
): void {
  // `using` and `await using` bind names like const.
  const binding = kind === 'let' ? 'let' : 'const';
  for (const { id } of declarations) {
    for (const name of patternNames(id)) scope.declare(name, binding);
  }
}
