import { isNeverReassigned } from '../script/binding.ts';
import type { AnyFunction, CapturedFunction } from '../script/captured-function.ts';
import { givenScope } from '../script/given-scope.ts';
import type { DebuggerSession, RemoteProperty } from './debugger-session.ts';
import { type FoundFunction, sourceOf } from './script.ts';

/**
 * The route through `[[Scopes]]`, the engine's list of the variables around a function: needs no call and no
 * code generation, but what it gives is a copy. So it serves functions whose outer variables never change, and
 * none that needs the `this` of its place or private names. Undefined for others.
 */
export function captureSnapshot(
  session: DebuggerSession,
  fn: AnyFunction,
  { facts, script, internal }: FoundFunction,
): CapturedFunction | undefined {
  const needsPlace = (facts.kind === 'arrow' && facts.usesThis) || facts.privateNames.size > 0;
  if (needsPlace || facts.written.size > 0) return undefined;
  const values: Record<string, unknown> = {};
  for (const [name, binding] of facts.free) {
    if (!binding) continue; // of the global object, which is read live
    const found = isNeverReassigned(binding) ? findInScopes(session, internal, name) : undefined;
    // Before its initialisation a variable shows as undefined.
    if (!found || found.value === undefined) return undefined;
    values[name] = found.value;
  }
  const scope = givenScope(values);
  const isConstant = (name: string): boolean =>
    Object.hasOwn(values, name) || scope.isConstant(name);
  return {
    fn,
    route: 'snapshot',
    name: fn.name,
    node: facts.node,
    kind: facts.kind,
    ...(facts.classNode && { classNode: facts.classNode }),
    source: sourceOf(script, facts),
    scope: { ...scope, isConstant, place: () => undefined },
    freeNames: [...facts.free.keys()],
    ...(facts.kind === 'constructor' && { homeObject: fn.prototype as object }),
    strict: facts.strict,
  };
}

/** One of `[[Scopes]]`: what kind it is, and its variables as an object that the engine made. */
interface ListedScope {
  readonly description: string;
  readonly object: object;
}

/**
 * The value that `[[Scopes]]` has for a name, innermost first. Beyond a `with`, whose object is the user's and may be
 * a Proxy, nothing is found.
 */
export function findInScopes(
  session: DebuggerSession,
  internal: readonly RemoteProperty[],
  name: string,
): { readonly value: unknown } | undefined {
  const list = internal.find((property) => property.name === '[[Scopes]]')?.value?.objectId;
  if (list === undefined) return undefined;
  // The list itself: asked for its properties, the inspector would print every function that it leads to.
  const scopes = session.local(list, { objectId: list }) as ArrayLike<ListedScope>;
  for (const { description, object } of Array.from(scopes)) {
    if (description === 'Global' || description.startsWith('With')) return undefined;
    const found = Object.getOwnPropertyDescriptor(object, name);
    if (found) return { value: found.value };
  }
  return undefined;
}
