import type { AnyNode, Class } from 'acorn';
import { childrenOf } from '../../vm/syntax/children.ts';
import { boundNames } from '../../vm/syntax/patterns.ts';
import { clause, type FunctionNode, spanOf } from '../syntax/nodes.ts';
import { analyzeClass, analyzeConstruction } from './analyze-class.ts';
import { analyzeFunction } from './analyze-function.ts';
import { analyzeTarget } from './analyze-target.ts';
import type { Analysis, LexicalScope } from './bindings.ts';
import { declareLexical } from './declare-variables.ts';
import { ScopeBuilder } from './scope-builder.ts';
import type { AnalysisContext, FunctionEntry, Walk } from './walk.ts';

const ordinary: FunctionEntry = { callableFrom: undefined, derived: false };

/**
 * In: a function without rejected constructs, or a class of which only instance creation matters. Out: what each
 * identifier refers to, which variables inner functions share, and which uses may precede the variable's
 * initialization.
 */
export function analyze(root: FunctionNode | Class, context: AnalysisContext): Analysis {
  const builder = new ScopeBuilder();
  const hoisted: Walk['hoisted'] = new Map();
  const walk: Walk = { builder, context, hoisted, visit };
  if ('params' in root) analyzeFunction(walk, root, undefined, ordinary);
  else analyzeConstruction(walk, root);
  return builder;

  function visitAll(nodes: readonly (AnyNode | null | undefined)[], scope: LexicalScope): void {
    for (const node of nodes) visit(node, scope);
  }

  function visit(node: AnyNode | null | undefined, scope: LexicalScope): void {
    if (!node) return;
    switch (node.type) {
      case 'Identifier':
        builder.use(node, scope, 'read');
        return;
      case 'PrivateIdentifier':
        builder.usePrivate(node, scope);
        return;
      case 'ThisExpression':
      case 'Super':
        builder.useThis(node, scope.owner);
        return;
      case 'FunctionDeclaration': {
        if (node.id) builder.use(node.id, scope, 'declare');
        analyzeFunction(walk, node, scope, ordinary);
        const from = node.id && scope.bindings.get(node.id.name);
        if (!from || !hoisted.has(node as never)) return;
        const to = hoisted.get(node as never);
        builder.blockFunctions.set(node as never, { from, to });
        builder.note(from, scope.owner, node.start, false);
        if (to) builder.note(to, scope.owner, node.start, true);
        return;
      }
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        analyzeFunction(walk, node, scope, ordinary);
        return;
      case 'ClassDeclaration':
      case 'ClassExpression':
        if (node.type === 'ClassDeclaration' && node.id) builder.use(node.id, scope, 'declare');
        analyzeClass(walk, node, scope);
        return;
      case 'CallExpression':
        // `super()` reads `this`, which must not be bound yet, and binds it.
        if (node.callee.type === 'Super') builder.useThis(node.callee, scope.owner, true);
        else visit(node.callee, scope);
        visitAll(node.arguments, scope);
        return;
      case 'MemberExpression':
        visit(node.object, scope);
        if (node.computed || node.property.type === 'PrivateIdentifier') {
          visit(node.property, scope);
        }
        return;
      case 'Property':
        if (node.computed) visit(node.key, scope);
        visit(node.value, scope);
        return;
      case 'MetaProperty':
      case 'BreakStatement':
      case 'ContinueStatement':
        return;
      case 'LabeledStatement':
        visit(node.body, scope);
        return;
      case 'IfStatement':
        visit(node.test, scope);
        visit(clause(node.consequent), scope);
        if (node.alternate) visit(clause(node.alternate), scope);
        return;
      case 'AssignmentExpression':
        analyzeTarget(walk, node.left, scope, 'assign');
        visit(node.right, scope);
        return;
      case 'UpdateExpression':
        analyzeTarget(walk, node.argument, scope, 'assign');
        return;
      case 'VariableDeclaration':
        for (const { id, init } of node.declarations) {
          analyzeTarget(walk, id, scope, 'declare');
          visit(init, scope);
        }
        return;
      case 'BlockStatement': {
        const inner = builder.openScope(node, scope.owner, scope);
        declareLexical(builder, node.body, inner);
        visitAll(node.body, inner);
        return;
      }
      case 'CatchClause': {
        const inner = builder.openScope(node, scope.owner, scope);
        if (node.param) {
          for (const name of boundNames(node.param)) builder.declareName(inner, 'let', name);
          analyzeTarget(walk, node.param, inner, 'declare');
        }
        visit(node.body, inner);
        return;
      }
      case 'ForStatement': {
        const inner = builder.openScope(node, scope.owner, scope);
        if (node.init) declareLexical(builder, [node.init], inner);
        visitAll([node.init, node.test, node.update, node.body], inner);
        return;
      }
      case 'ForInStatement':
      case 'ForOfStatement': {
        const inner = builder.openScope(node, scope.owner, scope);
        declareLexical(builder, [node.left], inner, [spanOf(node.right)]);
        if (node.left.type === 'VariableDeclaration') visit(node.left, inner);
        else analyzeTarget(walk, node.left, inner, 'assign');
        visitAll([node.right, node.body], inner);
        return;
      }
      case 'SwitchStatement': {
        visit(node.discriminant, scope);
        const inner = builder.openScope(node, scope.owner, scope);
        for (const branch of node.cases) {
          // A jump to a later case skips the declarations of earlier ones.
          const later = { start: branch.end, end: node.end };
          declareLexical(builder, branch.consequent, inner, [later]);
        }
        visitAll(node.cases, inner);
        return;
      }
      default:
        for (const child of childrenOf(node)) visit(child, scope);
    }
  }
}
