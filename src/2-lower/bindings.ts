import type { AnyNode, Identifier, Node } from 'acorn';
import type { FunctionNode } from './nodes.ts';
import type { LowerRefusal } from './refusal.ts';

export type BindingKind = 'parameter' | 'var' | 'function' | 'let' | 'const' | 'self';

export interface Range {
  readonly start: number;
  readonly end: number;
}

export const contains = (range: Range, offset: number): boolean =>
  range.start <= offset && offset < range.end;

/** A variable of the function that is being lowered, or of a function inside it. */
export class Binding {
  /** Shared with an inner function: lives in a cell. */
  captured = false;
  /** Some use may come before the initialisation: it must be marked at the start of its scope. */
  usedEarly = false;
  /** Offsets of all uses in the owner itself; a write is a use as well. */
  readonly uses: number[] = [];
  readonly writes: number[] = [];

  constructor(
    readonly name: string,
    readonly kind: BindingKind,
    readonly owner: FunctionScope,
    /** From this offset on, outside `except`, the binding is initialised. */
    readonly initializedFrom: number,
    readonly except: readonly Range[],
  ) {}

  isInitializedAt(offset: number): boolean {
    if (offset < this.initializedFrom) return false;
    return !this.except.some((range) => contains(range, offset));
  }
}

export class LexicalScope {
  readonly bindings = new Map<string, Binding>();

  constructor(
    readonly owner: FunctionScope,
    readonly parent: LexicalScope | undefined,
    readonly start: number,
  ) {}

  resolve(name: string): Binding | undefined {
    for (let scope: LexicalScope | undefined = this; scope; scope = scope.parent) {
      const binding = scope.bindings.get(name);
      if (binding) return binding;
    }
    return undefined;
  }
}

export class FunctionScope {
  /** Variables of enclosing functions that it, or a function inside it, uses: its outer cells. */
  readonly outer: Binding[] = [];
  /** Everything declared in it, in the order of declaration. */
  readonly bindings: Binding[] = [];
  /** The variable `arguments`, when it is used. */
  arguments: Binding | undefined;
  /** Body variables that begin with the value of the parameter of the same name. */
  readonly copies: { readonly from: Binding; readonly to: Binding }[] = [];

  constructor(
    readonly node: FunctionNode,
    readonly parent: FunctionScope | undefined,
    /** The offset before which nothing can call it. */
    readonly callableFrom: number,
  ) {}
}

/** What one identifier means. */
export interface Use {
  /** Undefined: a free name, found in the surroundings of the captured function. */
  readonly binding: Binding | undefined;
  /** The variable may not be initialised yet when this use runs. */
  readonly checked: boolean;
}

export interface Analysis {
  readonly functions: ReadonlyMap<FunctionNode, FunctionScope>;
  /** By the node that opens the scope: function, block, loop or switch. */
  readonly scopes: ReadonlyMap<Node, LexicalScope>;
  /** The variable that holds a named function expression inside itself. */
  readonly selfNames: ReadonlyMap<AnyNode, Binding>;
  readonly uses: ReadonlyMap<Identifier, Use>;
  readonly refusal: LowerRefusal | undefined;
}
