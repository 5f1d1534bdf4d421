import type { AnyNode, Class, FunctionDeclaration, Statement } from 'acorn';
import { childrenOf } from '../../vm/syntax/children.ts';
import { clause, type FunctionNode, hasUseStrict, spanOf } from '../syntax/nodes.ts';
import { analyzeClass, analyzeConstruction } from './analyze-class.ts';
import type { Analysis, Binding, LexicalScope } from './bindings.ts';
import { hoistedFunctions } from './block-functions.ts';
import { boundNames, scriptLexicals, varNames } from './declarations.ts';
import { declareLexical, declareVars } from './declare-variables.ts';
import { ScopeBuilder } from './scope-builder.ts';

/** Facts about the analyzed function that depend on its location. */
export interface AnalysisPlace {
  readonly strict: boolean;
  /** True for the text of a script, whose variables and functions are global. */
  readonly script: boolean;
}

/** How a function is entered, apart from what its text shows. */
export interface FunctionEntry {
  /** The offset before which nothing can call the function. */
  readonly callableFrom: number | undefined;
  /** True for the constructor of a class that extends another. */
  readonly derived: boolean;
}

const ordinary: FunctionEntry = { callableFrom: undefined, derived: false };

/** The parts of the tree walk that `analyzeClass` needs. */
export interface Walk {
  readonly builder: ScopeBuilder;
  visit(node: AnyNode | null | undefined, scope: LexicalScope): void;
  visitFunction(node: FunctionNode, around: LexicalScope | undefined, entry: FunctionEntry): void;
  visitBody(statements: readonly Statement[], scope: LexicalScope): void;
}

/**
 * In: a function without rejected constructs, or a class of which only instance creation matters. Out: what each
 * identifier refers to, which variables inner functions share, and which uses may precede the variable's
 * initialization.
 */
export function analyze(root: FunctionNode | Class, place: AnalysisPlace): Analysis {
  const builder = new ScopeBuilder();
  /** Functions in blocks that are also variables of their function, or global variables. */
  const hoisted = new Map<FunctionDeclaration, Binding | undefined>();
  const walk: Walk = { builder, visit, visitFunction, visitBody };
  if ('params' in root) visitFunction(root, undefined, ordinary);
  else analyzeConstruction(walk, root);
  return builder;

  function visitFunction(
    node: FunctionNode,
    around: LexicalScope | undefined,
    entry: FunctionEntry,
  ): void {
    // A function declaration can be called from the start of its block.
    const start = node.type === 'FunctionDeclaration' ? (around?.start ?? 0) : node.start;
    const strict = (around?.strict ?? place.strict) || hasUseStrict(node);
    const owner = builder.openFunction(node, around, entry.callableFrom ?? start, strict);
    owner.isScript = place.script && node === root;
    const parameters = builder.openScope(node, owner, selfScope(node, around) ?? around);
    if (entry.derived) {
      owner.thisBinding = builder.declare(parameters, 'this', 'this', Number.POSITIVE_INFINITY);
      owner.thisBinding.usedEarly = true;
      owner.thisBinding.uses.push(node.start);
    }
    for (const param of node.params) {
      for (const name of boundNames(param)) builder.declareName(parameters, 'parameter', name);
    }
    for (const param of node.params) visitTarget(param, parameters, 'declare');
    if (node.body.type !== 'BlockStatement') {
      visit(node.body, parameters);
      return;
    }
    const body = builder.openScope(node.body, owner, parameters);
    const statements = node.body.body;
    const globals = owner.isScript;
    if (globals) for (const { name } of scriptLexicals(statements)) builder.scriptNames.add(name);
    else declareLexical(builder, statements, body);
    if (!globals) declareVars(builder, node, statements, parameters, body);
    if (!strict) declareBlockFunctions(node, statements, body, globals);
    for (const statement of statements) visit(statement, body);
    if (owner.arguments && !strict) shareParameters(node, parameters);
  }

  /** Opens the scope of a named function expression's own name, which is a variable of the outer function. */
  function selfScope(
    node: FunctionNode,
    around: LexicalScope | undefined,
  ): LexicalScope | undefined {
    if (!around || node.type !== 'FunctionExpression' || !node.id) return undefined;
    const { name } = node.id;
    const scope = builder.openScope(node.id, around.owner, around);
    builder.selfNames.set(node, builder.declare(scope, 'self', name, 0));
    return scope;
  }

  /** For sloppy mode. The copies themselves are noted at the declarations. */
  function declareBlockFunctions(
    node: FunctionNode,
    statements: readonly Statement[],
    body: LexicalScope,
    globals: boolean,
  ): void {
    const parameters = node.params.flatMap((param) => boundNames(param));
    const taken = new Set(parameters.map(({ identifier }) => identifier.name));
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

  function visitBody(statements: readonly Statement[], scope: LexicalScope): void {
    declareLexical(builder, statements, scope);
    for (const bound of varNames(statements)) {
      if (scope.bindings.has(bound.identifier.name)) continue;
      builder.declare(scope, 'var', bound.identifier.name, Number.POSITIVE_INFINITY);
    }
    for (const statement of statements) visit(statement, scope);
  }

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
        visitFunction(node, scope, ordinary);
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
        visitFunction(node, scope, ordinary);
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
        visitTarget(node.left, scope, 'assign');
        visit(node.right, scope);
        return;
      case 'UpdateExpression':
        visitTarget(node.argument, scope, 'assign');
        return;
      case 'VariableDeclaration':
        for (const { id, init } of node.declarations) {
          visitTarget(id, scope, 'declare');
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
          visitTarget(node.param, inner, 'declare');
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
        else visitTarget(node.left, inner, 'assign');
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

  /** Visits a pattern: its names are written; its defaults, keys and objects are read. */
  function visitTarget(node: AnyNode | null, scope: LexicalScope, how: 'assign' | 'declare'): void {
    switch (node?.type) {
      case undefined:
        return;
      case 'Identifier':
        builder.use(node, scope, how);
        return;
      case 'AssignmentPattern':
        visitTarget(node.left, scope, how);
        visit(node.right, scope);
        return;
      case 'RestElement':
        visitTarget(node.argument, scope, how);
        return;
      case 'ArrayPattern':
        for (const element of node.elements) visitTarget(element, scope, how);
        return;
      case 'ObjectPattern':
        for (const property of node.properties) visitTarget(property, scope, how);
        return;
      case 'Property':
        if (node.computed) visit(node.key, scope);
        visitTarget(node.value, scope, how);
        return;
      default:
        visit(node, scope);
    }
  }
}
