import type { AnyNode, ForStatement, Pattern, Program, VariableDeclaration } from 'acorn';
import { childrenOf } from '../../vm/syntax/children.ts';
import { analyzeClass, type ClassWalk } from './analyze-class.ts';
import { type Binding, type FunctionFacts, LexicalScope } from './binding.ts';
import type { ClassNode, FunctionNode } from './captured-function.ts';
import { declareVariables, hoistLexical, hoistVars, patternNames } from './hoist.ts';
import {
  childScope,
  declareLocal,
  extentOf,
  markThis,
  type Place,
  recordDeclared,
  reference,
} from './place.ts';

export interface ScriptFacts {
  readonly program: LexicalScope;
  /** In source order, outer functions before inner ones. */
  readonly functions: readonly FunctionFacts[];
  /** All classes, with the outer names that their field initializers use. */
  readonly classes: ReadonlyMap<ClassNode, ReadonlyMap<string, Binding | undefined>>;
  /** Analyzes a function again whose body was empty before (`parseLazily`). */
  readonly withBody: (facts: FunctionFacts) => FunctionFacts;
}

/**
 * In: a whole script. Out: for every function its free names, each resolved to its variable, with all assignments
 * of the script to that variable counted.
 */
export function analyzeScript(ast: Program): ScriptFacts {
  const functions: FunctionFacts[] = [];
  const classes: ClassWalk['classes'] = new Map();
  const program = new LexicalScope('program', undefined);
  hoistVars(ast.body, program);
  hoistLexical(ast.body, program);
  const strict = ast.sourceType === 'module' || hasUseStrict(ast.body);
  const walk: ClassWalk = { functions, classes, visit, visitFunction };
  const top: Place = { scope: program, fn: undefined, ownThis: false, strict, inLoop: false };
  for (const statement of ast.body) visit(statement, top);
  return { program, functions, classes, withBody };

  function withBody({ node, kind, around, enclosing, strict, classNode }: FunctionFacts) {
    const outside = { scope: around, fn: enclosing, ownThis: false, strict, inLoop: false };
    const at = functions.length;
    visitFunction(node, kind, outside, classNode);
    return functions[at]!;
  }

  function visit(node: AnyNode | null | undefined, place: Place): void {
    if (!node) return;
    switch (node.type) {
      case 'Identifier':
        reference(node.name, place, 'read');
        return;
      case 'ThisExpression':
        markThis(place, 'usesThis');
        return;
      case 'Super':
        markThis(place, 'usesSuper');
        return;
      case 'PrivateIdentifier':
        for (let fn = place.fn; fn; fn = fn.enclosing) fn.privateNames.add(node.name);
        return;
      case 'MetaProperty':
      case 'ImportDeclaration':
      case 'ExportAllDeclaration':
      case 'BreakStatement':
      case 'ContinueStatement':
        return;
      case 'ExportNamedDeclaration':
        visit(node.declaration, place);
        return;
      case 'LabeledStatement':
        visit(node.body, place);
        return;
      case 'MemberExpression':
        visit(node.object, place);
        if (node.computed || node.property.type === 'PrivateIdentifier') {
          visit(node.property, place);
        }
        return;
      case 'Property':
        if (node.computed) visit(node.key, place);
        if (node.kind !== 'init' || node.method) {
          visitFunction(node.value as FunctionNode, 'method', place);
          return;
        }
        visit(node.value, place);
        return;
      case 'AssignmentExpression':
        write(node.left, place, 'assign');
        visit(node.right, place);
        return;
      case 'UpdateExpression':
        write(node.argument, place, 'assign');
        return;
      case 'CallExpression':
        if (node.callee.type === 'Identifier' && node.callee.name === 'eval') {
          for (let s: LexicalScope | undefined = place.scope; s; s = s.parent) s.seesEval = true;
        }
        visitChildren(node, place);
        return;
      case 'VariableDeclaration':
        visitVariables(node, place, 'own');
        return;
      case 'FunctionDeclaration':
      case 'FunctionExpression':
        visitFunction(node, 'function', place);
        return;
      case 'ArrowFunctionExpression':
        visitFunction(node, 'arrow', place);
        return;
      case 'ClassDeclaration':
      case 'ClassExpression':
        analyzeClass(walk, node, place);
        return;
      case 'BlockStatement':
        visitBlock(node.body, place);
        return;
      case 'StaticBlock':
        visitStaticBlock(node.body, place);
        return;
      case 'SwitchStatement':
        visit(node.discriminant, place);
        visitBlock(
          node.cases,
          place,
          node.cases.flatMap((branch) => branch.consequent),
        );
        return;
      case 'CatchClause': {
        const scope = childScope(place);
        if (node.param) {
          for (const name of patternNames(node.param))
            declareLocal(scope, name, 'catch', place, node);
          write(node.param, { ...place, scope }, 'bind');
        }
        visitBlock(node.body.body, { ...place, scope });
        return;
      }
      case 'ForStatement':
        visitLoop(node, place);
        return;
      case 'ForInStatement':
      case 'ForOfStatement':
        visitForEach(node, place);
        return;
      case 'WhileStatement':
      case 'DoWhileStatement':
        visitChildren(node, { ...place, inLoop: true });
        return;
      default:
        visitChildren(node, place);
        return;
    }
  }

  function visitChildren(node: AnyNode, place: Place): void {
    for (const child of childrenOf(node)) visit(child, place);
  }

  function visitBlock(body: readonly AnyNode[], place: Place, declarations = body): void {
    const scope = childScope(place);
    hoistLexical(declarations, scope);
    recordDeclared(scope, place, extentOf(body));
    for (const statement of body) visit(statement, { ...place, scope });
  }

  function visitStaticBlock(body: readonly AnyNode[], place: Place): void {
    const scope = childScope(place);
    hoistVars(body, scope);
    visitBlock(body, { ...place, scope, ownThis: true, inLoop: false });
    recordDeclared(scope, place, extentOf(body));
  }

  function visitVariables(node: VariableDeclaration, place: Place, init: 'own' | 'loop'): void {
    for (const declarator of node.declarations) {
      visit(declarator.init, place);
      const initialized = declarator.init || init === 'loop';
      // A `var` initialized in a loop is one variable with many values.
      const repeated = node.kind === 'var' && (place.inLoop || init === 'loop');
      const how = !initialized ? 'declare' : repeated ? 'assign' : 'bind';
      write(declarator.id, place, how);
    }
  }

  function visitLoop(node: ForStatement, place: Place): void {
    const { init, test, update, body } = node;
    const scope = childScope(place);
    if (init?.type === 'VariableDeclaration' && init.kind !== 'var') {
      declareVariables(init.kind, init.declarations, scope);
      recordDeclared(scope, place, node);
    }
    visit(init, { ...place, scope });
    for (const part of [test, update, body]) visit(part, { ...place, scope, inLoop: true });
  }

  function visitForEach(
    node: Extract<AnyNode, { type: 'ForInStatement' | 'ForOfStatement' }>,
    place: Place,
  ): void {
    const { left, right, body } = node;
    const scope = childScope(place);
    const inner: Place = { ...place, scope };
    if (left.type !== 'VariableDeclaration') write(left, inner, 'assign');
    else {
      if (left.kind !== 'var') declareVariables(left.kind, left.declarations, scope);
      recordDeclared(scope, place, node);
      visitVariables(left, inner, 'loop');
    }
    visit(right, inner);
    visit(body, { ...inner, inLoop: true });
  }

  function visitFunction(
    node: FunctionNode,
    kind: FunctionFacts['kind'],
    outside: Place,
    classNode?: ClassNode,
  ): void {
    const block = node.body.type === 'BlockStatement' ? node.body.body : undefined;
    const strict = outside.strict || (block !== undefined && hasUseStrict(block));
    let place = outside;
    if (node.type === 'FunctionExpression' && node.id) {
      const own = new LexicalScope('block', outside.scope);
      own.declare(node.id.name, 'self');
      place = { ...outside, scope: own };
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
    functions.push(facts);
    const scope = new LexicalScope('function', place.scope, facts);
    const names = node.params.flatMap(patternNames);
    for (const name of names) scope.declare(name, 'parameter');
    const inner: Place = { scope, fn: facts, ownThis: false, strict, inLoop: false };
    for (const param of node.params) write(param, inner, 'bind');
    if (block === undefined) {
      recordDeclared(scope, inner, node);
      visit(node.body, inner);
      return;
    }
    const body = new LexicalScope('body', scope);
    hoistVars(block, body);
    hoistLexical(block, body);
    recordDeclared(scope, inner, node);
    recordDeclared(body, inner, node);
    for (const name of body.bindings.keys()) facts.bodyNames.add(name);
    for (const statement of block) visit(statement, { ...inner, scope: body });
  }

  /** Visits the target of an assignment or declaration. Nested defaults and keys are ordinary reads. */
  function write(
    target: Pattern | AnyNode,
    place: Place,
    how: 'assign' | 'bind' | 'declare',
  ): void {
    switch (target.type) {
      case 'Identifier':
        reference(target.name, place, how);
        return;
      case 'ObjectPattern':
        for (const property of target.properties) {
          if (property.type === 'RestElement') write(property.argument, place, how);
          else {
            if (property.computed) visit(property.key, place);
            write(property.value, place, how);
          }
        }
        return;
      case 'ArrayPattern':
        for (const element of target.elements) if (element) write(element, place, how);
        return;
      case 'AssignmentPattern':
        visit(target.right, place);
        write(target.left, place, how);
        return;
      case 'RestElement':
        write(target.argument, place, how);
        return;
      default:
        visit(target, place);
        return;
    }
  }
}

const hasUseStrict = (body: readonly AnyNode[]): boolean =>
  body.some(
    (statement) => statement.type === 'ExpressionStatement' && statement.directive === 'use strict',
  );
