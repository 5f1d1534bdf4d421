import type { Statement } from 'acorn';
import { boundNames, patternNames } from '../../vm/syntax/patterns.ts';
import { type FunctionNode, hasUseStrict } from '../syntax/nodes.ts';
import { analyzeTarget } from './analyze-target.ts';
import type { LexicalScope } from './bindings.ts';
import { hoistedFunctions } from './block-functions.ts';
import { scriptLexicals, varNames } from './declarations.ts';
import { declareLexical, declareVars } from './declare-variables.ts';
import type { ScopeBuilder } from './scope-builder.ts';
import type { FunctionEntry, Walk } from './walk.ts';

/** Analyzes a function: opens its scopes, declares its names and visits its parameters and its body. */
export function analyzeFunction(
  walk: Walk,
  node: FunctionNode,
  around: LexicalScope | undefined,
  entry: FunctionEntry,
): void {
  const { builder } = walk;
  // A function declaration can be called from the start of its block.
  const start = node.type === 'FunctionDeclaration' ? (around?.start ?? 0) : node.start;
  const strict = (around?.strict ?? walk.context.strict) || hasUseStrict(node);
  const owner = builder.openFunction(node, around, entry.callableFrom ?? start, strict);
  owner.isScript = walk.context.script && !around;
  const parameters = builder.openScope(node, owner, selfScope(builder, node, around) ?? around);
  if (entry.derived) {
    owner.thisBinding = builder.declare(parameters, 'this', 'this', Number.POSITIVE_INFINITY);
    owner.thisBinding.usedEarly = true;
    owner.thisBinding.uses.push(node.start);
  }
  for (const param of node.params) {
    for (const name of boundNames(param)) builder.declareName(parameters, 'parameter', name);
  }
  for (const param of node.params) analyzeTarget(walk, param, parameters, 'declare');
  if (node.body.type !== 'BlockStatement') {
    walk.visit(node.body, parameters);
    return;
  }
  const body = builder.openScope(node.body, owner, parameters);
  const statements = node.body.body;
  const globals = owner.isScript;
  if (globals) for (const { name } of scriptLexicals(statements)) builder.scriptNames.add(name);
  else declareLexical(builder, statements, body);
  if (!globals) declareVars(builder, node, statements, parameters, body);
  if (!strict) declareBlockFunctions(walk, node, statements, body, globals);
  for (const statement of statements) walk.visit(statement, body);
  if (owner.arguments && !strict) shareParameters(node, parameters);
}

/** Opens the scope of a named function expression's own name, which is a variable of the outer function. */
function selfScope(
  builder: ScopeBuilder,
  node: FunctionNode,
  around: LexicalScope | undefined,
): LexicalScope | undefined {
  if (!around || node.type !== 'FunctionExpression' || !node.id) return undefined;
  const { name } = node.id;
  const scope = builder.openScope(node.id, around.owner, around);
  builder.selfNames.set(node, builder.declare(scope, 'self', name, 0));
  return scope;
}

/** For sloppy mode. The copies themselves are recorded at the declarations. */
function declareBlockFunctions(
  { builder, hoisted }: Walk,
  node: FunctionNode,
  statements: readonly Statement[],
  body: LexicalScope,
  globals: boolean,
): void {
  const taken = new Set(node.params.flatMap(patternNames));
  for (const fn of hoistedFunctions(statements, taken)) {
    const { name } = fn.id;
    if (!globals && !body.bindings.has(name)) {
      builder.declare(body, 'var', name, Number.POSITIVE_INFINITY).usedEarly = true;
    }
    hoisted.set(fn, globals ? undefined : body.bindings.get(name));
  }
}

/** In a mapped `arguments` object, elements and parameters share cells. */
function shareParameters(node: FunctionNode, parameters: LexicalScope): void {
  if (!node.params.every(({ type }) => type === 'Identifier')) return;
  for (const binding of parameters.bindings.values()) {
    if (binding.kind === 'parameter') binding.captured = true;
  }
}

/** Analyzes the body of a static block, which has variables of its own. */
export function analyzeBody(
  { builder, visit }: Walk,
  statements: readonly Statement[],
  scope: LexicalScope,
): void {
  declareLexical(builder, statements, scope);
  for (const bound of varNames(statements)) {
    if (scope.bindings.has(bound.identifier.name)) continue;
    builder.declare(scope, 'var', bound.identifier.name, Number.POSITIVE_INFINITY);
  }
  for (const statement of statements) visit(statement, scope);
}
