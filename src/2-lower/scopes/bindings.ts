import type {
  AnyNode,
  FunctionDeclaration,
  Identifier,
  Node,
  PrivateIdentifier,
  PropertyDefinition,
} from 'acorn';
import type { Range } from '../../vm/syntax/patterns.ts';
import type { FunctionLike } from '../syntax/nodes.ts';
import type { LowerRefusal } from '../syntax/refusal.ts';

/** `self` is a function expression's own name; `this`, `private` and `key` are not names in the source. */
export type BindingKind =
  | 'parameter'
  | 'var'
  | 'function'
  | 'let'
  | 'const'
  | 'self'
  /** The `this` of a derived constructor, which `super()` initializes. */
  | 'this'
  /** The private name `#name` of a class that the code creates. */
  | 'private'
  /** The computed key of a field, stored until the field is created. */
  | 'key';

export const contains = (range: Range, offset: number): boolean =>
  range.start <= offset && offset < range.end;

/** A variable of the function being lowered, or of one of its inner functions. */
export class Binding {
  /** True if an inner function shares it, so that it lives in a cell. */
  captured = false;
  /**
   * True if a use may precede its initialization, so that it must be marked as uninitialized at the start of its
   * scope.
   */
  usedEarly = false;
  /** Offsets of all uses in the owner itself, including writes. */
  readonly uses: number[] = [];
  readonly writes: number[] = [];

  constructor(
    readonly name: string,
    readonly kind: BindingKind,
    readonly owner: FunctionScope,
    /** The offset from which the binding is initialized, except within `except`. */
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
  /** A class is in strict mode even inside a sloppy function. */
  readonly strict: boolean;

  constructor(
    readonly owner: FunctionScope,
    readonly parent: LexicalScope | undefined,
    readonly start: number,
    strict = false,
  ) {
    this.strict = strict || owner.strict || (parent?.strict ?? false);
  }

  resolve(name: string): Binding | undefined {
    for (let scope: LexicalScope | undefined = this; scope; scope = scope.parent) {
      const binding = scope.bindings.get(name);
      if (binding) return binding;
    }
    return undefined;
  }
}

export class FunctionScope {
  /** Variables of enclosing functions used by it or its inner functions: its outer cells. */
  readonly outer: Binding[] = [];
  /** All of its bindings, in declaration order. */
  readonly bindings: Binding[] = [];
  /** The variable `arguments`, if it is used. */
  arguments: Binding | undefined;
  /** True for a script, which has no `arguments` of its own. */
  isScript = false;
  /** The `this` binding of a derived constructor. */
  thisBinding: Binding | undefined;
  /** Body variables that are initialized with the parameter of the same name. */
  readonly copies: { readonly from: Binding; readonly to: Binding }[] = [];

  constructor(
    readonly node: FunctionLike,
    readonly parent: FunctionScope | undefined,
    /** The offset before which nothing can call it. */
    readonly callableFrom: number,
    readonly strict: boolean,
  ) {}

  get isArrow(): boolean {
    return this.node.type === 'ArrowFunctionExpression';
  }
}

/** The meaning of an identifier. */
export interface Use {
  /** Undefined for a free name, which is resolved outside the captured function. */
  readonly binding: Binding | undefined;
  /** True if the variable may not be initialized yet when this use runs. */
  readonly checked: boolean;
  /** True for an assignment to a constant: it throws, or does nothing (`self` in sloppy mode). */
  readonly constant?: boolean;
}

/** In sloppy mode, a function in a block, which is also a variable of the enclosing function. */
export interface BlockFunction {
  readonly from: Binding;
  /** Undefined for a global variable of this name. */
  readonly to: Binding | undefined;
}

export interface Analysis {
  readonly functions: ReadonlyMap<Node, FunctionScope>;
  /** Scopes by the node that opens them: a function, block, class, loop or switch. */
  readonly scopes: ReadonlyMap<Node, LexicalScope>;
  /** The inner variable of a named function expression or a class. */
  readonly selfNames: ReadonlyMap<AnyNode, Binding>;
  readonly uses: ReadonlyMap<Identifier, Use>;
  /** Bindings of a derived constructor's `this`, by the `this` and `super` nodes that refer to it. */
  readonly thisUses: ReadonlyMap<Node, Binding>;
  /** Private names of classes that the code creates; other private names are outside the function. */
  readonly privateUses: ReadonlyMap<PrivateIdentifier, Binding>;
  readonly fieldKeys: ReadonlyMap<PropertyDefinition, Binding>;
  readonly blockFunctions: ReadonlyMap<FunctionDeclaration, BlockFunction>;
  /**
   * Names that a script declares with `let`, `const` and `class`, which are visible to all scripts of its realm.
   */
  readonly scriptNames: ReadonlySet<string>;
  readonly refusal: LowerRefusal | undefined;
}
