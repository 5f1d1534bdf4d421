import type { AnyNode, ForStatement, VariableDeclaration } from 'acorn';
import { analyzeTarget } from './analyze-target.ts';
import { declareVariables, hoistLexical, hoistVars } from './hoist.ts';
import { childScope, extentOf, type Place, recordDeclared } from './place.ts';
import type { ScriptWalk } from './script-walk.ts';

export function analyzeBlock(
  { visit }: ScriptWalk,
  body: readonly AnyNode[],
  place: Place,
  declarations = body,
): void {
  const scope = childScope(place);
  hoistLexical(declarations, scope);
  recordDeclared(scope, place, extentOf(body));
  for (const statement of body) visit(statement, { ...place, scope });
}

export function analyzeStaticBlock(walk: ScriptWalk, body: readonly AnyNode[], place: Place): void {
  const scope = childScope(place);
  hoistVars(body, scope);
  analyzeBlock(walk, body, { ...place, scope, ownThis: true, inLoop: false });
  recordDeclared(scope, place, extentOf(body));
}

export function analyzeVariables(
  walk: ScriptWalk,
  node: VariableDeclaration,
  place: Place,
  init: 'own' | 'loop',
): void {
  for (const declarator of node.declarations) {
    walk.visit(declarator.init, place);
    const initialized = declarator.init || init === 'loop';
    // A `var` initialized in a loop is one variable with many values.
    const repeated = node.kind === 'var' && (place.inLoop || init === 'loop');
    const how = !initialized ? 'declare' : repeated ? 'assign' : 'bind';
    analyzeTarget(walk, declarator.id, place, how);
  }
}

export function analyzeFor({ visit }: ScriptWalk, node: ForStatement, place: Place): void {
  const { init, test, update, body } = node;
  const scope = childScope(place);
  if (init?.type === 'VariableDeclaration' && init.kind !== 'var') {
    declareVariables(init.kind, init.declarations, scope);
    recordDeclared(scope, place, node);
  }
  visit(init, { ...place, scope });
  for (const part of [test, update, body]) visit(part, { ...place, scope, inLoop: true });
}

export function analyzeForEach(
  walk: ScriptWalk,
  node: Extract<AnyNode, { type: 'ForInStatement' | 'ForOfStatement' }>,
  place: Place,
): void {
  const { left, right, body } = node;
  const scope = childScope(place);
  const inner: Place = { ...place, scope };
  if (left.type !== 'VariableDeclaration') analyzeTarget(walk, left, inner, 'assign');
  else {
    if (left.kind !== 'var') declareVariables(left.kind, left.declarations, scope);
    recordDeclared(scope, place, node);
    analyzeVariables(walk, left, inner, 'loop');
  }
  walk.visit(right, inner);
  walk.visit(body, { ...inner, inLoop: true });
}
