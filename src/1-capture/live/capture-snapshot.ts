import type { Scope } from '../../vm/bytecode/frame.ts';
import { type Binding, isNeverReassigned } from '../script/binding.ts';
import type { AnyFunction, CapturedFunction } from '../script/captured-function.ts';
import { givenScope } from '../script/given-scope.ts';
import type { DebuggerSession, RemoteProperty } from './debugger-session.ts';
import { isOwnImport } from './scope-reads.ts';
import { type FoundFunction, type Script, sourceOf } from './script.ts';

/**
 * The route through `[[Scopes]]`, the engine's list of a function's outer scopes. It needs no call and no code
 * generation, but returns a copy. It therefore works for functions whose outer variables never change, and that need
 * neither an outer `this` nor private names. Returns undefined for other functions.
 */
export function captureSnapshot(
  session: DebuggerSession,
  fn: AnyFunction,
  { facts, script, internal }: FoundFunction,
): CapturedFunction | undefined {
  const needsPlace = (facts.kind === 'arrow' && facts.usesThis) || facts.privateNames.size > 0;
  if (needsPlace || facts.written.size > 0) return undefined;
  if (![...facts.free.values()].every((binding) => isCopied(binding, script))) return undefined;
  const scopes = facts.free.size > 0 ? listScopes(session, internal) : [];
  // Any name may be a property of the `with` object.
  if (scopes.some(isWith)) return undefined;
  const values: Record<string, unknown> = {};
  for (const [name, binding] of facts.free) {
    const found = findIn(scopes, name);
    // A name of the global object, which is read live; or a parameter of a wrapper around the script, such as
    // `require`.
    if (!binding) {
      if (found) return undefined;
      continue;
    }
    // An uninitialized variable reads as undefined.
    if (!found || found.value === undefined) return undefined;
    if (binding.kind === 'import' && !isFixed(found.value)) return undefined;
    values[name] = found.value;
  }
  const scope = givenScope(values);
  const isConstant = (name: string): boolean =>
    Object.hasOwn(values, name) || scope.isConstant(name);
  return {
    fn,
    route: 'snapshot',
    name: fn.name,
    kind: facts.kind,
    start: facts.node.start,
    syntax: () => facts,
    source: sourceOf(script, facts),
    scope: { ...scope, isConstant, place: () => undefined },
    freeNames: [...facts.free.keys()],
    ...(facts.kind === 'constructor' && { homeObject: fn.prototype as object }),
    strict: facts.strict,
  };
}

/**
 * Returns whether a copy suffices: no outer variable changes, not even from another script, and the function needs
 * no class. Then no call has to be started, which takes the engine milliseconds in a large program.
 */
export function isUnchanging(
  fn: AnyFunction,
  { facts, script }: Pick<FoundFunction, 'facts' | 'script'>,
): boolean {
  if (facts.usesSuper || facts.kind === 'constructor' || facts.free.has('arguments')) return false;
  // The globals must be those of this realm.
  if (!isOfThisRealm(fn)) return false;
  return [...facts.free.values()].every((binding) => {
    if (!binding || binding.kind === 'const') return true;
    const isShared = binding.scope.kind === 'program' && !script.isModule;
    return isCopied(binding, script) && !isShared;
  });
}

function isOfThisRealm(fn: object): boolean {
  let root = fn;
  for (let up = Object.getPrototypeOf(root); up; up = Object.getPrototypeOf(up)) root = up;
  return root === Object.prototype;
}

/** The engine doesn't list the inner name of a function expression or class. */
const isCopied = (binding: Binding | undefined, script: Script): boolean =>
  binding === undefined ||
  isOwnImport(binding, script.text) ||
  (binding.kind !== 'self' && isNeverReassigned(binding));

/** Functions and namespaces that this package exports never change. */
const isFixed = (value: unknown): boolean =>
  typeof value === 'function' || Object.prototype.toString.call(value) === '[object Module]';

/** Whether a variable that its script never assigns was assigned through a scope: copies may be outdated. */
let isAnyAssigned = false;

export function noteAssigned(binding: Binding | undefined): void {
  if (binding && isNeverReassigned(binding)) isAnyAssigned = true;
}

/** Returns a copy whose variables can be assigned, through the scope that `probe` finds. */
export function assignedLater(copy: Scope, probe: () => Scope): Scope {
  let live: Scope | undefined;
  const now = (): Scope => {
    if (isAnyAssigned) live ??= probe();
    return live ?? copy;
  };
  return {
    ...copy,
    get: (name) => now().get(name),
    reader: (name) => () => now().get(name),
    set(name, value, strict) {
      live ??= probe();
      live.set(name, value, strict);
    },
    delete(name) {
      live ??= probe();
      return live.delete!(name);
    },
  };
}

/** An element of `[[Scopes]]`: its kind, and its variables as an object that the engine created. */
interface ListedScope {
  readonly description: string;
  readonly object: object;
}

/**
 * Returns the value of a name in `[[Scopes]]`, searched from the innermost scope. The search ends at a `with`,
 * whose object is the user's and may be a Proxy.
 */
export function findInScopes(
  session: DebuggerSession,
  internal: readonly RemoteProperty[],
  name: string,
): { readonly value: unknown } | undefined {
  return findIn(listScopes(session, internal), name);
}

/** Returns the scopes, innermost first. */
export function listScopes(
  session: DebuggerSession,
  internal: readonly RemoteProperty[],
): readonly ListedScope[] {
  const list = internal.find((property) => property.name === '[[Scopes]]')?.value?.objectId;
  if (list === undefined) return [];
  // Reads the list itself: a request for its properties would make the inspector print every reachable function.
  return Array.from(session.local(list, { objectId: list }) as ArrayLike<ListedScope>);
}

function findIn(
  scopes: readonly ListedScope[],
  name: string,
): { readonly value: unknown } | undefined {
  for (const scope of scopes) {
    const { description, object } = scope;
    if (description === 'Global' || isWith(scope)) return undefined;
    if (!Object.hasOwn(object, name)) continue;
    return { value: initialized(object as Record<string, unknown>, name) };
  }
  return undefined;
}

const isWith = ({ description }: ListedScope): boolean => description.startsWith('With');

/** An uninitialized variable reads as undefined here; newer engines throw. */
function initialized(scope: Readonly<Record<string, unknown>>, name: string): unknown {
  try {
    return scope[name];
  } catch {
    return undefined;
  }
}
