import type {
  AnyNode,
  FunctionDeclaration,
  Identifier,
  Node,
  PrivateIdentifier,
  PropertyDefinition,
} from 'acorn';
import type { BoundName, Range } from '../../vm/syntax/patterns.ts';
import type { FunctionLike } from '../syntax/nodes.ts';
import { type LowerRefusal, refuse } from '../syntax/refusal.ts';
import {
  type Analysis,
  Binding,
  type BindingKind,
  type BlockFunction,
  FunctionScope,
  LexicalScope,
  type Use,
} from './bindings.ts';

/** Collects scopes, and resolves the names used in them; `analyze` walks the tree. */
export class ScopeBuilder implements Analysis {
  readonly functions = new Map<Node, FunctionScope>();
  readonly scopes = new Map<Node, LexicalScope>();
  readonly selfNames = new Map<AnyNode, Binding>();
  readonly uses = new Map<Identifier, Use>();
  readonly thisUses = new Map<Node, Binding>();
  readonly privateUses = new Map<PrivateIdentifier, Binding>();
  readonly fieldKeys = new Map<PropertyDefinition, Binding>();
  readonly blockFunctions = new Map<FunctionDeclaration, BlockFunction>();
  readonly scriptNames = new Set<string>();
  refusal: LowerRefusal | undefined;

  openFunction(
    node: FunctionLike,
    around: LexicalScope | undefined,
    callableFrom: number,
    strict: boolean,
  ): FunctionScope {
    const owner = new FunctionScope(node, around?.owner, callableFrom, strict);
    this.functions.set(node, owner);
    return owner;
  }

  openScope(
    node: Node,
    owner: FunctionScope,
    parent: LexicalScope | undefined,
    strict = false,
  ): LexicalScope {
    const scope = new LexicalScope(owner, parent, node.start, strict);
    this.scopes.set(node, scope);
    return scope;
  }

  declare(
    scope: LexicalScope,
    kind: BindingKind,
    name: string,
    from: number,
    except: readonly Range[] = [],
  ): Binding {
    const binding = new Binding(name, kind, scope.owner, from, except);
    scope.bindings.set(name, binding);
    scope.owner.bindings.push(binding);
    return binding;
  }

  declareName(scope: LexicalScope, kind: BindingKind, bound: BoundName): Binding {
    const { identifier, except } = bound;
    return this.declare(scope, kind, identifier.name, identifier.end, except);
  }

  use(node: Identifier, scope: LexicalScope, how: 'read' | 'assign' | 'declare'): void {
    const found = scope.resolve(node.name);
    const binding = node.name === 'arguments' ? this.argumentsOf(scope.owner, found) : found;
    if (!binding) {
      this.uses.set(node, { binding, checked: false });
      return;
    }
    const from = scope.owner;
    const early = how !== 'declare' && !isInitializedBefore(node.start, binding, from);
    const checked = early && binding.kind !== 'var';
    const constant = how === 'assign' && (binding.kind === 'const' || binding.kind === 'self');
    this.uses.set(node, { binding, checked, constant });
    if (early) binding.usedEarly = true;
    this.note(binding, from, node.start, how !== 'read' && !constant);
  }

  /** Records a use of `this`, or of `super`'s receiver, in a derived constructor or its arrows. */
  useThis(node: Node, from: FunctionScope, writes = false): void {
    let owner = from;
    while (owner.isArrow && owner.parent) owner = owner.parent;
    const { thisBinding } = owner;
    if (!thisBinding) return;
    this.thisUses.set(node, thisBinding);
    thisBinding.usedEarly = true;
    this.note(thisBinding, from, node.start, writes);
  }

  usePrivate(node: PrivateIdentifier, scope: LexicalScope): void {
    const binding = scope.resolve(`#${node.name}`);
    if (!binding) return;
    this.privateUses.set(node, binding);
    this.note(binding, scope.owner, node.start, false);
  }

  /** Records a use of a variable without an identifier in the source. */
  note(binding: Binding, from: FunctionScope, offset: number, writes: boolean): void {
    if (from !== binding.owner) {
      capture(binding, from);
      return;
    }
    binding.uses.push(offset);
    if (writes) binding.writes.push(offset);
  }

  refuse(...refusal: Parameters<typeof refuse>): void {
    this.refusal ??= refuse(...refusal);
  }

  /**
   * Returns the `arguments` variable of the function around the arrows. It is declared on first use, unless that
   * function has a variable of this name; variables of functions further out are shadowed.
   */
  private argumentsOf(from: FunctionScope, found: Binding | undefined): Binding | undefined {
    let owner = from;
    while (owner.isArrow && owner.parent) {
      if (found?.owner === owner) return found;
      owner = owner.parent;
    }
    const scope = this.scopes.get(owner.node);
    if (found?.owner === owner || owner.isArrow || owner.isScript) return found;
    if (!scope || !('params' in owner.node)) return found;
    owner.arguments = this.declare(scope, 'var', 'arguments', 0);
    return owner.arguments;
  }
}

function capture(binding: Binding, by: FunctionScope): void {
  binding.captured = true;
  for (let fn: FunctionScope = by; fn !== binding.owner; fn = fn.parent!) {
    if (!fn.outer.includes(binding)) fn.outer.push(binding);
  }
}

/** Returns true if a use of `binding` at `offset` in the function `from` always runs after its initialization. */
function isInitializedBefore(offset: number, binding: Binding, from: FunctionScope): boolean {
  if (from === binding.owner) return binding.isInitializedAt(offset);
  let child = from;
  while (child.parent !== binding.owner) child = child.parent!;
  return binding.isInitializedAt(child.callableFrom);
}
