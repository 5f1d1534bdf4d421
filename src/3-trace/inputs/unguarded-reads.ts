import type { Guard } from '../../guards/guard.ts';
import { sourcesOf } from '../../guards/guard-sources.ts';
import type { Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import { owns } from '../../vm/language/primordials.ts';

/**
 * Returns a guard for reads whose values the trace doesn't inspect: it forwards them, for example to the result, or
 * ignores them. In a later call, eager execution may throw there, or run a getter, once and in program order.
 */
export function unguardedReads(read: readonly Source[], guards: readonly Guard[]): Guard[] {
  const guarded = new Set<string>();
  for (const guard of guards) for (const source of sourcesOf(guard)) addPath(source, guarded);
  const sources = read.filter((source) => mayThrow(source) && !guarded.has(sourceKey(source)));
  return sources.length > 0 ? [{ kind: 'data', sources }] : [];
}

/**
 * A property may become a getter. An object of another class has no such private name, `in` takes only objects, only
 * Dates have a date, another function with the same code may have variables that are not initialized yet, and a global
 * variable may be deleted.
 */
function mayThrow(source: Source): boolean {
  if (source.kind === 'query') return /^(?:date|target)$/.test(source.query);
  return source.kind === 'free' ? isDeletable(source) : throwing.test(source.kind);
}

function isDeletable({ scope, name }: Source & { kind: 'free' }): boolean {
  const global = Object.getOwnPropertyDescriptor(globalThis, name);
  if (!global?.configurable || !('value' in global) || scope.isConstant(name)) return false;
  return Object.is(global.value, scope.get(name));
}

const throwing = /^(?:property|hasProperty|private|hasPrivate|closureName)$/;

function addPath(source: Source, guarded: Set<string>): void {
  const key = sourceKey(source);
  if (guarded.has(key)) return;
  guarded.add(key);
  if (owns(source, 'base')) addPath(source.base, guarded);
  if (source.kind === 'lookup') addPath(source.collection, guarded);
}
