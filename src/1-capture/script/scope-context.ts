import { type Extent, type FunctionFacts, LexicalScope } from './binding.ts';

/** The context of a name: its scope, and what determines the meaning of `this` and `var`. */
export interface ScopeContext {
  readonly scope: LexicalScope;
  readonly fn: FunctionFacts | undefined;
  /** True in field initializers and static blocks, which have their own `this`. */
  readonly ownThis: boolean;
  readonly strict: boolean;
  readonly inLoop: boolean;
}

export function reference(
  name: string,
  context: ScopeContext,
  how: 'read' | 'assign' | 'bind' | 'declare',
): void {
  const crossed: NonNullable<LexicalScope['facts']>[] = [];
  let scope: LexicalScope | undefined = context.scope;
  for (; scope; scope = scope.parent) {
    if (scope.bindings.has(name)) break;
    if (scope.facts) {
      if (name === 'arguments' && scope.facts.kind !== 'arrow') {
        scope.aliasesArguments = !scope.facts.strict;
        return;
      }
      crossed.push(scope.facts);
    }
  }
  const binding = scope?.bindings.get(name);
  if (binding && how === 'bind') binding.initializations++;
  if (binding && how === 'assign') binding.assignments++;
  for (const facts of crossed) {
    facts.free.set(name, binding);
    if (how === 'assign') facts.written.add(name);
  }
}

/** Adds a private name to the functions between its use and the class that declares it. */
export function referencePrivate(name: string, context: ScopeContext): void {
  let scope: LexicalScope | undefined = context.scope;
  for (let fn = context.fn; fn; fn = fn.enclosing) {
    for (; scope && scope !== fn.around; scope = scope.parent) {
      if (scope.privateNames?.has(name)) return;
    }
    fn.privateNames.add(name);
  }
}

export function markThis(context: ScopeContext, mark: 'usesThis' | 'usesSuper'): void {
  if (context.ownThis) return;
  for (let fn = context.fn; fn; fn = fn.kind === 'arrow' ? fn.enclosing : undefined) {
    fn[mark] = true;
    fn.usesThis = true; // `super.x` needs `this` as well
  }
}

export const childScope = (context: ScopeContext): LexicalScope =>
  new LexicalScope('block', context.scope);

export function declareLocal(
  scope: LexicalScope,
  name: string,
  kind: 'catch' | 'self',
  context: ScopeContext,
  extent: Extent,
): void {
  scope.declare(name, kind);
  recordDeclared(scope, context, extent);
}

/** Records where in the text the names of a scope hide outer ones. */
export function recordDeclared(
  scope: LexicalScope,
  context: ScopeContext,
  { start, end }: Extent,
): void {
  const declared = context.fn?.declared;
  if (!declared) return;
  for (const name of scope.bindings.keys()) {
    declared.set(name, [...(declared.get(name) ?? []), { start, end }]);
  }
}

/** The extent of a list of nodes. */
export const extentOf = (nodes: readonly Extent[]): Extent => ({
  start: nodes[0]?.start ?? 0,
  end: nodes.at(-1)?.end ?? 0,
});
