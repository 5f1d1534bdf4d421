import type { Guard } from '../../guards/guard.ts';
import { sourcesOf } from '../../guards/guard-sources.ts';
import type { Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import { owns } from '../../vm/language/primordials.ts';

/**
 * Returns a guard for properties whose values the trace forwards, for example to the result, without inspecting
 * them. If one became a getter in a later call, eager execution would run it, once and in program order.
 */
export function unguardedReads(read: readonly Source[], guards: readonly Guard[]): Guard[] {
  const guarded = new Set<string>();
  for (const guard of guards) {
    for (const source of sourcesOf(guard)) addPath(source, guarded);
  }
  const sources = read.filter((source) => {
    return source.kind === 'property' && !guarded.has(sourceKey(source));
  });
  return sources.length > 0 ? [{ kind: 'data', sources }] : [];
}

function addPath(source: Source, guarded: Set<string>): void {
  const key = sourceKey(source);
  if (guarded.has(key)) return;
  guarded.add(key);
  if (owns(source, 'base')) addPath(source.base, guarded);
  if (source.kind === 'lookup') addPath(source.collection, guarded);
}
