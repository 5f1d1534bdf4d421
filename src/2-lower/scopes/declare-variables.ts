import type { AnyNode, Statement, VariableDeclaration } from 'acorn';
import { boundNames, type Range } from '../../vm/syntax/patterns.ts';
import {
  declaredFunction,
  type FunctionNode,
  hasParameterExpressions,
  spanOf,
} from '../syntax/nodes.ts';
import type { Binding, LexicalScope } from './bindings.ts';
import { varNames } from './declarations.ts';
import type { ScopeBuilder } from './scope-builder.ts';

/** Declares the variables of all `var`s in the function. */
export function declareVars(
  builder: ScopeBuilder,
  node: FunctionNode,
  statements: readonly Statement[],
  parameters: LexicalScope,
  body: LexicalScope,
): void {
  const separate = hasParameterExpressions(node.params);
  const isArrow = node.type === 'ArrowFunctionExpression';
  for (const bound of varNames(statements)) {
    const { name } = bound.identifier;
    const parameter = parameters.bindings.get(name);
    if (body.bindings.has(name) || (parameter && !separate)) continue;
    // `var arguments` refers to the existing variable.
    if (name === 'arguments' && !isArrow && !parameter) continue;
    if (parameter) copyParameter(builder, node, parameter, body);
    else if (bound.topLevel) builder.declareName(body, 'var', bound);
    else builder.declare(body, 'var', name, Number.POSITIVE_INFINITY);
  }
}

function copyParameter(
  builder: ScopeBuilder,
  node: FunctionNode,
  parameter: Binding,
  body: LexicalScope,
): void {
  parameter.uses.push(node.body.start);
  const binding = builder.declare(body, 'var', parameter.name, 0);
  body.owner.copies.push({ from: parameter, to: binding });
}

/** Declares `let`, `const`, classes, and functions directly in a block. */
export function declareLexical(
  builder: ScopeBuilder,
  statements: readonly AnyNode[],
  scope: LexicalScope,
  except: readonly Range[] = [],
): void {
  for (const statement of statements) {
    const fn = declaredFunction(statement);
    if (fn) {
      if (!scope.bindings.has(fn.id.name)) builder.declare(scope, 'function', fn.id.name, 0);
    } else if (statement.type === 'ClassDeclaration' && statement.id) {
      builder.declare(scope, 'let', statement.id.name, statement.end, except);
    } else if (statement.type === 'VariableDeclaration' && statement.kind !== 'var') {
      declareVariables(builder, statement, scope, except);
    }
  }
}

function declareVariables(
  builder: ScopeBuilder,
  node: VariableDeclaration,
  scope: LexicalScope,
  except: readonly Range[],
): void {
  const kind = node.kind === 'let' ? 'let' : 'const';
  for (const { id, init } of node.declarations) {
    const before = init ? [...except, spanOf(init)] : except;
    for (const bound of boundNames(id, before)) builder.declareName(scope, kind, bound);
  }
}
