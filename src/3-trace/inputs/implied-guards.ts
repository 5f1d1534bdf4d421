import { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { Guard } from '../../guards/guard.ts';
import { sourceKey } from '../../guards/source-key.ts';
import { owns } from '../../vm/language/primordials.ts';

/** Drops guards that another guard implies: a tensor's guard implies that it is a `Tensor`. */
export function withoutImplied(guards: ReadonlyMap<string, Guard>): Guard[] {
  const isImplied = (guard: Guard): boolean => {
    const source = owns(guard, 'source') ? guard.source : null;
    if (source?.kind !== 'instanceOf' || (source.type as unknown) !== Tensor) return false;
    return guards.has(`tensor ${sourceKey(source.base)}`);
  };
  return [...guards.values()].filter((guard) => !isImplied(guard));
}
