import type { AnyNode, Program } from 'acorn';
import { childrenOf } from '../../vm/syntax/children.ts';
import { hasUseStrict } from '../../vm/syntax/function-node.ts';
import { patternNames } from '../../vm/syntax/patterns.ts';
import { addNamesOfFields, analyzeClass } from './analyze-class.ts';
import { analyzeFunction } from './analyze-function.ts';
import {
  analyzeBlock,
  analyzeFor,
  analyzeForEach,
  analyzeStaticBlock,
  analyzeVariables,
} from './analyze-statements.ts';
import { analyzeTarget } from './analyze-target.ts';
import { type Binding, type FunctionFacts, LexicalScope, type OuterNames } from './binding.ts';
import type { ClassNode, FunctionNode } from './captured-function.ts';
import { hoistLexical, hoistVars } from './hoist.ts';
import {
  childScope,
  declareLocal,
  markThis,
  reference,
  referencePrivate,
  type ScopeContext,
} from './scope-context.ts';
import type { ScriptWalk } from './script-walk.ts';

export interface ScriptFacts {
  readonly program: LexicalScope;
  /** In source order, outer functions before inner ones. */
  readonly functions: readonly FunctionFacts[];
  /** All classes, with the outer names that their field initializers use. */
  readonly classes: ReadonlyMap<ClassNode, OuterNames<Binding>>;
  /** Analyzes a function again whose body was empty at first (`parseLazily`). */
  readonly withBody: (facts: FunctionFacts) => FunctionFacts;
}

/**
 * In: a whole script. Out: for every function its free names, each resolved to its variable, with all assignments
 * of the script to that variable counted.
 */
export function analyzeScript(ast: Program): ScriptFacts {
  const functions: FunctionFacts[] = [];
  const classes: ScriptWalk['classes'] = new Map();
  const program = new LexicalScope('program', undefined);
  hoistVars(ast.body, program);
  hoistLexical(ast.body, program);
  const strict = ast.sourceType === 'module' || hasUseStrict(ast);
  const walk: ScriptWalk = { functions, classes, visit };
  const top: ScopeContext = {
    scope: program,
    fn: undefined,
    ownThis: false,
    strict,
    inLoop: false,
  };
  for (const statement of ast.body) visit(statement, top);
  return { program, functions, classes, withBody };

  function withBody({ node, kind, around, enclosing, strict, classNode }: FunctionFacts) {
    const outside = { scope: around, fn: enclosing, ownThis: false, strict, inLoop: false };
    const at = functions.length;
    analyzeFunction(walk, node, kind, outside, classNode);
    if (classNode) addNamesOfFields(walk, functions[at]!);
    return functions[at]!;
  }

  function visit(node: AnyNode | null | undefined, context: ScopeContext): void {
    if (!node) return;
    switch (node.type) {
      case 'Identifier':
        reference(node.name, context, 'read');
        return;
      case 'ThisExpression':
        markThis(context, 'usesThis');
        return;
      case 'Super':
        markThis(context, 'usesSuper');
        return;
      case 'PrivateIdentifier':
        referencePrivate(node.name, context);
        return;
      case 'MetaProperty':
      case 'ImportDeclaration':
      case 'ExportAllDeclaration':
      case 'BreakStatement':
      case 'ContinueStatement':
        return;
      case 'ExportNamedDeclaration':
        visit(node.declaration, context);
        return;
      case 'LabeledStatement':
        visit(node.body, context);
        return;
      case 'MemberExpression':
        visit(node.object, context);
        if (node.computed || node.property.type === 'PrivateIdentifier') {
          visit(node.property, context);
        }
        return;
      case 'Property':
        if (node.computed) visit(node.key, context);
        if (node.kind !== 'init' || node.method) {
          analyzeFunction(walk, node.value as FunctionNode, 'method', context);
          return;
        }
        visit(node.value, context);
        return;
      case 'AssignmentExpression':
        analyzeTarget(walk, node.left, context, 'assign');
        visit(node.right, context);
        return;
      case 'UpdateExpression':
        analyzeTarget(walk, node.argument, context, 'assign');
        return;
      case 'CallExpression':
        if (node.callee.type === 'Identifier' && node.callee.name === 'eval') {
          for (let s: LexicalScope | undefined = context.scope; s; s = s.parent) s.seesEval = true;
        }
        visitChildren(node, context);
        return;
      case 'VariableDeclaration':
        analyzeVariables(walk, node, context, 'own');
        return;
      case 'FunctionDeclaration':
      case 'FunctionExpression':
        analyzeFunction(walk, node, 'function', context);
        return;
      case 'ArrowFunctionExpression':
        analyzeFunction(walk, node, 'arrow', context);
        return;
      case 'ClassDeclaration':
      case 'ClassExpression':
        analyzeClass(walk, node, context);
        return;
      case 'BlockStatement':
        analyzeBlock(walk, node.body, context);
        return;
      case 'StaticBlock':
        analyzeStaticBlock(walk, node.body, context);
        return;
      case 'SwitchStatement':
        visit(node.discriminant, context);
        analyzeBlock(
          walk,
          node.cases,
          context,
          node.cases.flatMap((branch) => branch.consequent),
        );
        return;
      case 'CatchClause': {
        const scope = childScope(context);
        if (node.param) {
          for (const name of patternNames(node.param))
            declareLocal(scope, name, 'catch', context, node);
          analyzeTarget(walk, node.param, { ...context, scope }, 'bind');
        }
        analyzeBlock(walk, node.body.body, { ...context, scope });
        return;
      }
      case 'ForStatement':
        analyzeFor(walk, node, context);
        return;
      case 'ForInStatement':
      case 'ForOfStatement':
        analyzeForEach(walk, node, context);
        return;
      case 'WhileStatement':
      case 'DoWhileStatement':
        visitChildren(node, { ...context, inLoop: true });
        return;
      default:
        visitChildren(node, context);
        return;
    }
  }

  function visitChildren(node: AnyNode, context: ScopeContext): void {
    for (const child of childrenOf(node)) visit(child, context);
  }
}
