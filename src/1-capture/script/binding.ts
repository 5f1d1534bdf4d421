import type { ClassNode, FunctionNode } from './captured-function.ts';

export type BindingKind =
  /** Refers to a variable of another module, which that module may assign. */
  | 'import'
  /** `import * as name` */
  | 'namespace'
  | 'const'
  | 'let'
  | 'var'
  | 'parameter'
  | 'catch'
  | 'function'
  | 'class'
  /** The inner name of a function expression or class. */
  | 'self';

/** A variable of a script, with the script's writes to it. */
export interface Binding {
  readonly name: string;
  readonly kind: BindingKind;
  readonly scope: LexicalScope;
  /** For imports: the module specifier. */
  from?: string;
  /** The number of declarations with a value. For `var`, a declaration in a loop counts twice. */
  initializations: number;
  assignments: number;
  /** Set once all bodies that mention its name are parsed. */
  isSearched?: true;
}

/** A variable outside a captured function, without the other names of its scope. */
export interface OuterBinding
  extends Readonly<Pick<Binding, 'name' | 'kind' | 'from' | 'initializations' | 'assignments'>> {
  readonly scope: Pick<LexicalScope, 'kind' | 'seesEval' | 'aliasesArguments'>;
}

export interface OuterNames<B extends OuterBinding = OuterBinding> {
  /** The outer names that a function uses; undefined for names that no scope of the script declares. */
  readonly free: ReadonlyMap<string, B | undefined>;
}

export class LexicalScope {
  readonly bindings = new Map<string, Binding>();
  /** True if the scope is visible to a direct `eval`, which may assign any of its variables. */
  seesEval = false;
  /** True if sloppy `arguments` aliases the parameters. */
  aliasesArguments = false;
  /** The private names that the class of this scope declares. */
  privateNames: ReadonlySet<string> | undefined;

  constructor(
    readonly kind: 'program' | 'function' | 'body' | 'block' | 'class',
    readonly parent: LexicalScope | undefined,
    /** Set on the outermost scope of a function. Names found further out are free in the function. */
    readonly facts?: FunctionBoundary,
  ) {}

  /** Where code can refer to its variables: the enclosing function; undefined for the whole script. */
  get extent(): Extent | undefined {
    return this.facts?.node ?? this.parent?.extent;
  }

  declare(name: string, kind: BindingKind): Binding {
    const known = this.bindings.get(name);
    if (known !== undefined && known.kind === kind) return known;
    const binding: Binding = { name, kind, scope: this, initializations: 0, assignments: 0 };
    if (known !== undefined) binding.assignments = 1; // `var f; function f() {}`: two writers
    this.bindings.set(name, binding);
    return binding;
  }
}

/** A function, or a class as the function that initializes its fields. */
export interface FunctionBoundary
  extends Pick<FunctionFacts, 'free' | 'written' | 'kind' | 'strict'> {
  readonly node: Extent;
}

/** A part of the text of a script, as offsets. */
export interface Extent {
  readonly start: number;
  readonly end: number;
}

/** Facts about the names in a function of a script. */
export interface FunctionFacts {
  readonly node: FunctionNode;
  readonly kind: 'function' | 'arrow' | 'method' | 'constructor';
  /** For constructors: the class itself. */
  readonly classNode: ClassNode | undefined;
  readonly strict: boolean;
  readonly enclosing: FunctionFacts | undefined;
  /** The scope that contains the function. */
  readonly around: LexicalScope;
  /** Outer names used by it or its inner functions; undefined if no scope of the script declares the name. */
  readonly free: Map<string, Binding | undefined>;
  /** The free names assigned by it or its inner functions. */
  readonly written: Set<string>;
  /** Names declared for the whole body, which hide outer ones at the entry. */
  readonly bodyNames: Set<string>;
  /** Names declared in it, outside inner functions, and where. A free name among them is hidden there. */
  readonly declared: Map<string, Extent[]>;
  /** Private names that it or its inner functions use, of classes around it. */
  readonly privateNames: Set<string>;
  usesThis: boolean;
  usesSuper: boolean;
}

/**
 * Returns true if no code of the script can change the variable after its initialization. Ignores whether it has been
 * initialized yet, and whether other scripts see it (`exposed` scopes).
 */
export function isNeverReassigned(binding: OuterBinding): boolean {
  const { kind, scope } = binding;
  if (kind === 'import') return false;
  if (kind === 'namespace' || kind === 'const' || kind === 'self') return true;
  if (binding.assignments > 0 || scope.seesEval) return false;
  switch (kind) {
    case 'let':
    case 'var':
      return binding.initializations === 1;
    case 'parameter':
      return !scope.aliasesArguments;
    case 'catch':
    case 'function':
    case 'class':
      return true;
  }
}
