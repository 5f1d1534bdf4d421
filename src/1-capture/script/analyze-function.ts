import { hasUseStrict } from '../../vm/syntax/function-node.ts';
import { patternNames } from '../../vm/syntax/patterns.ts';
import { analyzeTarget } from './analyze-target.ts';
import { type FunctionFacts, LexicalScope } from './binding.ts';
import type { ClassNode, FunctionNode } from './captured-function.ts';
import { hoistLexical, hoistVars } from './hoist.ts';
import { recordDeclared, type ScopeContext } from './scope-context.ts';
import type { ScriptWalk } from './script-walk.ts';

/** Analyzes a function: appends its facts, then visits its parameters and body in new scopes. */
export function analyzeFunction(
  walk: ScriptWalk,
  node: FunctionNode,
  kind: FunctionFacts['kind'],
  outside: ScopeContext,
  classNode?: ClassNode,
): void {
  const block = node.body.type === 'BlockStatement' ? node.body.body : undefined;
  const strict = outside.strict || hasUseStrict(node);
  let context = outside;
  if (node.type === 'FunctionExpression' && node.id) {
    const selfScope = new LexicalScope('block', outside.scope);
    selfScope.declare(node.id.name, 'self');
    context = { ...outside, scope: selfScope };
  }
  const facts: FunctionFacts = {
    node,
    kind,
    classNode,
    strict,
    enclosing: outside.fn,
    around: outside.scope,
    free: new Map(),
    written: new Set(),
    bodyNames: new Set(),
    declared: new Map(),
    privateNames: new Set(),
    usesThis: false,
    usesSuper: false,
  };
  walk.functions.push(facts);
  const scope = new LexicalScope('function', context.scope, facts);
  const names = node.params.flatMap(patternNames);
  for (const name of names) scope.declare(name, 'parameter');
  const inner: ScopeContext = { scope, fn: facts, ownThis: false, strict, inLoop: false };
  for (const param of node.params) analyzeTarget(walk, param, inner, 'bind');
  if (block === undefined) {
    recordDeclared(scope, inner, node);
    walk.visit(node.body, inner);
    return;
  }
  const body = new LexicalScope('body', scope);
  hoistVars(block, body);
  hoistLexical(block, body);
  recordDeclared(scope, inner, node);
  recordDeclared(body, inner, node);
  for (const name of body.bindings.keys()) facts.bodyNames.add(name);
  for (const statement of block) walk.visit(statement, { ...inner, scope: body });
}
