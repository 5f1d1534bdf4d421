import type { AnyNode, Identifier, Node, Statement, VariableDeclaration } from 'acorn';
import { childrenOf } from '../syntax/children.ts';
import type { BindingKind, Use } from './bindings.ts';
import { type Analysis, Binding, FunctionScope, LexicalScope, type Range } from './bindings.ts';
import { type BoundName, boundNames, varNames } from './declarations.ts';
import { type FunctionNode, hasParameterExpressions, spanOf } from './nodes.ts';
import { type LowerRefusal, refuse } from './refusal.ts';

/**
 * In: a function without refused constructs. Out: what every identifier in it means, which variables
 * inner functions share, and which uses may come before the variable's initialisation.
 */
export function analyze(root: FunctionNode): Analysis {
  const functions = new Map<FunctionNode, FunctionScope>();
  const scopes = new Map<Node, LexicalScope>();
  const selfNames = new Map<AnyNode, Binding>();
  const uses = new Map<Identifier, Use>();
  let refusal: LowerRefusal | undefined;
  visitFunction(root, undefined);
  return { functions, scopes, selfNames, uses, refusal };

  function visitFunction(node: FunctionNode, around: LexicalScope | undefined): void {
    // A declared function can be called from the start of its block on.
    const callableFrom = node.type === 'FunctionDeclaration' ? (around?.start ?? 0) : node.start;
    const owner = new FunctionScope(node, around?.owner, callableFrom);
    functions.set(node, owner);
    const parameters = openScope(node, owner, selfScope(node, around) ?? around);
    for (const param of node.params) {
      for (const name of boundNames(param)) declareName(parameters, 'parameter', name);
    }
    for (const param of node.params) visitTarget(param, parameters, 'declare');
    if (node.body.type !== 'BlockStatement') {
      visit(node.body, parameters);
      return;
    }
    const body = openScope(node.body, owner, parameters);
    declareLexical(node.body.body, body);
    declareVars(node, node.body.body, parameters, body);
    for (const statement of node.body.body) visit(statement, body);
  }

  /** A named function expression sees its name, as a variable that belongs to the outer function. */
  function selfScope(
    node: FunctionNode,
    around: LexicalScope | undefined,
  ): LexicalScope | undefined {
    if (!around || node.type !== 'FunctionExpression' || !node.id) return undefined;
    const scope = new LexicalScope(around.owner, around, node.start);
    selfNames.set(node, declare(scope, 'self', node.id.name, 0, []));
    return scope;
  }

  function openScope(
    node: Node,
    owner: FunctionScope,
    parent: LexicalScope | undefined,
  ): LexicalScope {
    const scope = new LexicalScope(owner, parent, node.start);
    scopes.set(node, scope);
    return scope;
  }

  function declare(
    scope: LexicalScope,
    kind: BindingKind,
    name: string,
    from: number,
    except: readonly Range[],
  ): Binding {
    const binding = new Binding(name, kind, scope.owner, from, except);
    scope.bindings.set(name, binding);
    scope.owner.bindings.push(binding);
    return binding;
  }

  function declareName(scope: LexicalScope, kind: BindingKind, bound: BoundName): Binding {
    const { identifier, except } = bound;
    return declare(scope, kind, identifier.name, identifier.end, except);
  }

  function declareVars(
    node: FunctionNode,
    statements: readonly Statement[],
    parameters: LexicalScope,
    body: LexicalScope,
  ): void {
    const separate = hasParameterExpressions(node.params);
    for (const bound of varNames(statements)) {
      const { name } = bound.identifier;
      const parameter = parameters.bindings.get(name);
      if (body.bindings.has(name) || (parameter && !separate)) continue;
      if (parameter) {
        parameter.uses.push(node.body.start);
        const binding = declare(body, 'var', name, 0, []);
        body.owner.copies.push({ from: parameter, to: binding });
      } else if (bound.topLevel) declareName(body, 'var', bound);
      else declare(body, 'var', name, Number.POSITIVE_INFINITY, []);
    }
  }

  /** `let`, `const` and functions that stand directly in a block. */
  function declareLexical(
    statements: readonly AnyNode[],
    scope: LexicalScope,
    except: readonly Range[] = [],
  ): void {
    for (const statement of statements) {
      if (statement.type === 'FunctionDeclaration' && statement.id) {
        if (!scope.bindings.has(statement.id.name)) {
          declare(scope, 'function', statement.id.name, 0, []);
        }
      } else if (statement.type === 'VariableDeclaration' && statement.kind !== 'var') {
        declareVariables(statement, scope, except);
      }
    }
  }

  function declareVariables(
    node: VariableDeclaration,
    scope: LexicalScope,
    except: readonly Range[],
  ): void {
    const kind = node.kind === 'let' ? 'let' : 'const';
    for (const { id, init } of node.declarations) {
      const before = init ? [...except, spanOf(init)] : except;
      for (const bound of boundNames(id, before)) declareName(scope, kind, bound);
    }
  }

  function use(node: Identifier, scope: LexicalScope, how: 'read' | 'assign' | 'declare'): void {
    const binding = scope.resolve(node.name) ?? argumentsOf(node.name, scope.owner);
    if (!binding) {
      uses.set(node, { binding, checked: false });
      return;
    }
    const from = scope.owner;
    const early = how !== 'declare' && !isInitializedBefore(node.start, binding, from);
    const checked = early && binding.kind !== 'var';
    uses.set(node, { binding, checked });
    if (early) binding.usedEarly = true;
    if (from !== binding.owner) capture(binding, from);
    else {
      binding.uses.push(node.start);
      if (how !== 'read') binding.writes.push(node.start);
    }
    if (how === 'assign' && (binding.kind === 'const' || binding.kind === 'self')) {
      refusal ??= refuse('assign-to-constant', node);
    }
  }

  /** `arguments` is a variable of the function around the arrows, declared by its first use. */
  function argumentsOf(name: string, from: FunctionScope): Binding | undefined {
    if (name !== 'arguments') return undefined;
    let owner = from;
    while (owner.node.type === 'ArrowFunctionExpression' && owner.parent) owner = owner.parent;
    owner.arguments = declare(scopes.get(owner.node)!, 'var', name, 0, []);
    return owner.arguments;
  }

  function capture(binding: Binding, by: FunctionScope): void {
    binding.captured = true;
    for (let fn: FunctionScope = by; fn !== binding.owner; fn = fn.parent!) {
      if (!fn.outer.includes(binding)) fn.outer.push(binding);
    }
  }

  function visit(node: AnyNode | null | undefined, scope: LexicalScope): void {
    if (!node) return;
    switch (node.type) {
      case 'Identifier':
        use(node, scope, 'read');
        return;
      case 'FunctionDeclaration':
        if (node.id) use(node.id, scope, 'declare');
        visitFunction(node, scope);
        return;
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        visitFunction(node, scope);
        return;
      case 'MemberExpression':
        visit(node.object, scope);
        if (node.computed) visit(node.property, scope);
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
        const inner = openScope(node, scope.owner, scope);
        declareLexical(node.body, inner);
        for (const statement of node.body) visit(statement, inner);
        return;
      }
      case 'CatchClause': {
        const inner = openScope(node, scope.owner, scope);
        if (node.param) {
          for (const name of boundNames(node.param)) declareName(inner, 'let', name);
          visitTarget(node.param, inner, 'declare');
        }
        visit(node.body, inner);
        return;
      }
      case 'ForStatement': {
        const inner = openScope(node, scope.owner, scope);
        if (node.init) declareLexical([node.init], inner);
        for (const part of [node.init, node.test, node.update, node.body]) visit(part, inner);
        return;
      }
      case 'ForInStatement':
      case 'ForOfStatement': {
        const inner = openScope(node, scope.owner, scope);
        declareLexical([node.left], inner, [spanOf(node.right)]);
        if (node.left.type === 'VariableDeclaration') visit(node.left, inner);
        else visitTarget(node.left, inner, 'assign');
        visit(node.right, inner);
        visit(node.body, inner);
        return;
      }
      case 'SwitchStatement': {
        visit(node.discriminant, scope);
        const inner = openScope(node, scope.owner, scope);
        for (const branch of node.cases) {
          // A jump into a later case passes by the declarations of the earlier ones.
          const later = { start: branch.end, end: node.end };
          declareLexical(branch.consequent, inner, [later]);
        }
        for (const branch of node.cases) visit(branch, inner);
        return;
      }
      default:
        for (const child of childrenOf(node)) visit(child, scope);
    }
  }

  /** A pattern: its names are written, its defaults, keys and objects are read. */
  function visitTarget(node: AnyNode, scope: LexicalScope, how: 'assign' | 'declare'): void {
    switch (node.type) {
      case 'Identifier':
        use(node, scope, how);
        return;
      case 'AssignmentPattern':
        visitTarget(node.left, scope, how);
        visit(node.right, scope);
        return;
      case 'RestElement':
        visitTarget(node.argument, scope, how);
        return;
      case 'ArrayPattern':
        for (const element of node.elements) if (element) visitTarget(element, scope, how);
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

/** True when a use of `binding` at `offset`, in the function `from`, always comes after its value. */
function isInitializedBefore(offset: number, binding: Binding, from: FunctionScope): boolean {
  if (from === binding.owner) return binding.isInitializedAt(offset);
  let child = from;
  while (child.parent !== binding.owner) child = child.parent!;
  return binding.isInitializedAt(child.callableFrom);
}
