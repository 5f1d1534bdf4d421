import type { AnyNode, ForStatement, VariableDeclaration } from 'acorn';
import { analyzeTarget } from './analyze-target.ts';
import { declareVariables, hoistLexical, hoistVars } from './hoist.ts';
import { childScope, extentOf, recordDeclared, type ScopeContext } from './scope-context.ts';
import type { ScriptWalk } from './script-walk.ts';

export function analyzeBlock(
  { visit }: ScriptWalk,
  body: readonly AnyNode[],
  context: ScopeContext,
  declarations = body,
): void {
  const scope = childScope(context);
  hoistLexical(declarations, scope);
  recordDeclared(scope, context, extentOf(body));
  for (const statement of body) visit(statement, { ...context, scope });
}

export function analyzeStaticBlock(
  walk: ScriptWalk,
  body: readonly AnyNode[],
  context: ScopeContext,
): void {
  const scope = childScope(context);
  hoistVars(body, scope);
  analyzeBlock(walk, body, { ...context, scope, ownThis: true, inLoop: false });
  recordDeclared(scope, context, extentOf(body));
}

export function analyzeVariables(
  walk: ScriptWalk,
  node: VariableDeclaration,
  context: ScopeContext,
  init: 'own' | 'loop',
): void {
  for (const declarator of node.declarations) {
    walk.visit(declarator.init, context);
    const initialized = declarator.init || init === 'loop';
    // A `var` initialized in a loop is one variable with many values.
    const repeated = node.kind === 'var' && (context.inLoop || init === 'loop');
    const how = !initialized ? 'declare' : repeated ? 'assign' : 'bind';
    analyzeTarget(walk, declarator.id, context, how);
  }
}

export function analyzeFor({ visit }: ScriptWalk, node: ForStatement, context: ScopeContext): void {
  const { init, test, update, body } = node;
  const scope = childScope(context);
  if (init?.type === 'VariableDeclaration' && init.kind !== 'var') {
    declareVariables(init.kind, init.declarations, scope);
    recordDeclared(scope, context, node);
  }
  visit(init, { ...context, scope });
  for (const part of [test, update, body]) visit(part, { ...context, scope, inLoop: true });
}

export function analyzeForEach(
  walk: ScriptWalk,
  node: Extract<AnyNode, { type: 'ForInStatement' | 'ForOfStatement' }>,
  context: ScopeContext,
): void {
  const { left, right, body } = node;
  const scope = childScope(context);
  const inner: ScopeContext = { ...context, scope };
  if (left.type !== 'VariableDeclaration') analyzeTarget(walk, left, inner, 'assign');
  else {
    if (left.kind !== 'var') declareVariables(left.kind, left.declarations, scope);
    recordDeclared(scope, context, node);
    analyzeVariables(walk, left, inner, 'loop');
  }
  walk.visit(right, inner);
  walk.visit(body, { ...inner, inLoop: true });
}
