import type {
  AnyNode,
  FunctionDeclaration,
  Identifier,
  Node,
  PrivateIdentifier,
  PropertyDefinition,
} from 'acorn';
import type { FunctionLike } from '../syntax/nodes.ts';
import type { LowerRefusal } from '../syntax/refusal.ts';

/** `self` is a function expression's own name; `this`, `private` and `key` are not names of the source's. */
export type BindingKind =
  | 'parameter'
  | 'var'
  | 'function'
  | 'let'
  | 'const'
  | 'self'
  /** The `this` of a derived constructor, which `super()` initialises. */
  | 'this'
  /** `#name` of a class made here. */
  | 'private'
  /** The computed key of a field, until the field is made. */
  | 'key';

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
  /** A class is strict code, even inside a sloppy function. */
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
  /** Variables of enclosing functions that it, or a function inside it, uses: its outer cells. */
  readonly outer: Binding[] = [];
  /** Everything declared in it, in the order of declaration. */
  readonly bindings: Binding[] = [];
  /** The variable `arguments`, when it is used. */
  arguments: Binding | undefined;
  /** The text of a script: it has no `arguments` of its own. */
  isScript = false;
  /** Derived constructors. */
  thisBinding: Binding | undefined;
  /** Body variables that begin with the value of the parameter of the same name. */
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

/** The meaning of one identifier. */
export interface Use {
  /** Undefined: a free name, found in the surroundings of the captured function. */
  readonly binding: Binding | undefined;
  /** The variable may not be initialised yet when this use runs. */
  readonly checked: boolean;
  /** An assignment to what can't be assigned: it throws, or does nothing (`self` in sloppy code). */
  readonly constant?: boolean;
}

/** Sloppy code: a function in a block is also a variable of the function around it. */
export interface BlockFunction {
  readonly from: Binding;
  /** Undefined: a global variable of this name. */
  readonly to: Binding | undefined;
}

export interface Analysis {
  readonly functions: ReadonlyMap<Node, FunctionScope>;
  /** Scopes by the node that opens them: function, block, class, loop or switch. */
  readonly scopes: ReadonlyMap<Node, LexicalScope>;
  /** The variable that holds a named function expression, or a class, inside itself. */
  readonly selfNames: ReadonlyMap<AnyNode, Binding>;
  readonly uses: ReadonlyMap<Identifier, Use>;
  /** Bindings of a derived constructor's `this`, by the `this` and `super` nodes that mean it. */
  readonly thisUses: ReadonlyMap<Node, Binding>;
  /** Private names of classes made here; the others belong to the surroundings. */
  readonly privateUses: ReadonlyMap<PrivateIdentifier, Binding>;
  readonly fieldKeys: ReadonlyMap<PropertyDefinition, Binding>;
  readonly blockFunctions: ReadonlyMap<FunctionDeclaration, BlockFunction>;
  /** Names that a script declares with `let`, `const` and `class`: all scripts of its realm see them. */
  readonly scriptNames: ReadonlySet<string>;
  readonly refusal: LowerRefusal | undefined;
}
