import type { ClassNode, FunctionNode } from './captured-function.ts';

export type BindingKind =
  /** Shows a variable of another module, which that module may assign. */
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
  /** The name of a function expression or class inside itself. */
  | 'self';

/** One variable of a script, with what the whole script does to it. */
export interface Binding {
  readonly name: string;
  readonly kind: BindingKind;
  readonly scope: LexicalScope;
  /** Only for imports: the module, as the import names it. */
  from?: string;
  /** Declarations with a value; one that is repeated by a loop counts twice for `var`. */
  initializations: number;
  assignments: number;
}

export class LexicalScope {
  readonly bindings = new Map<string, Binding>();
  /** A direct `eval` sees this scope, so it may assign any of its variables. */
  seesEval = false;
  /** Sloppy `arguments`, whose elements are the parameters. */
  aliasesArguments = false;

  constructor(
    readonly kind: 'program' | 'function' | 'body' | 'block' | 'class',
    readonly parent: LexicalScope | undefined,
    /** Set on the outermost scope of a function: names found further out are free in it. */
    readonly facts?: Pick<FunctionFacts, 'free' | 'written' | 'kind' | 'strict'>,
  ) {}

  declare(name: string, kind: BindingKind): Binding {
    const known = this.bindings.get(name);
    if (known !== undefined && known.kind === kind) return known;
    const binding: Binding = { name, kind, scope: this, initializations: 0, assignments: 0 };
    if (known !== undefined) binding.assignments = 1; // `var f; function f() {}`: two writers
    this.bindings.set(name, binding);
    return binding;
  }
}

/** The facts about names in one function of a script. */
export interface FunctionFacts {
  readonly node: FunctionNode;
  readonly kind: 'function' | 'arrow' | 'method' | 'constructor';
  readonly classNode?: ClassNode;
  readonly strict: boolean;
  readonly enclosing: FunctionFacts | undefined;
  /** Its position. */
  readonly around: LexicalScope;
  /** Outer names that it or a function inside it uses; undefined when no scope of the script has it. */
  readonly free: Map<string, Binding | undefined>;
  /** Those of the free names that it or a function inside it assigns. */
  readonly written: Set<string>;
  /** Names that its body declares for the whole body: at the entry they hide outer ones. */
  readonly bodyNames: Set<string>;
  /** Names declared in it, outside inner functions. A free name among them is hidden somewhere. */
  readonly declared: Set<string>;
  readonly privateNames: Set<string>;
  usesThis: boolean;
  usesSuper: boolean;
}

/**
 * True when no code of the script can change the variable after its initialisation. Doesn't cover
 * whether it has been initialised yet, or whether other scripts see it (`exposed` scopes).
 */
export function isNeverReassigned(binding: Binding): boolean {
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
