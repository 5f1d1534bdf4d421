import type { Guard } from './guard.ts';
import { numberSources } from './number-expr.ts';
import type { Source } from './source.ts';

/** Returns the sources that a guard reads. */
export function sourcesOf(guard: Guard): readonly Source[] {
  switch (guard.kind) {
    case 'gradMode':
    case 'device':
    case 'opDevice':
      return [];
    case 'number':
      return [...numberSources(guard.expr)];
    case 'same':
      return [guard.source, guard.other];
    case 'distinct':
      return [...guard.sources, ...guard.others];
    case 'data':
      return guard.sources;
    default:
      return [guard.source];
  }
}
