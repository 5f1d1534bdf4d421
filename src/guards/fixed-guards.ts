import type { Frame } from '../vm/bytecode/frame.ts';
import type { Guard } from './guard.ts';
import { sourcesOf } from './guard-sources.ts';
import { PlainReads } from './plain-reads.ts';
import type { Source } from './source.ts';
import { sourceKey } from './source-key.ts';

/** Fewer guards are as soon checked as looked for. */
const worthIt = 32;

/** Guards on the value in a place, and nothing else that may change. */
const ofValues = /^(value|truthy|defined|typeof|isArray|identity|number|data|plainArray)$/;

/**
 * The guards without those on what can't change: an own property of a frozen object has its value forever, so one guard on
 * which object it is replaces all guards on what it holds. `frames`: a call in which all of them hold. Null where that saves
 * little; another object with the same properties fails these guards, and not the given ones.
 */
export function withoutFixed(guards: readonly Guard[], frames: readonly Frame[]): Guard[] | null {
  const reads = new PlainReads();
  const roots = new Map<string, Guard>();
  const places = new Map<string, { readonly value: unknown } | undefined>();

  /** The value of a place in a frozen object. */
  const fixedAt = (source: Source) => {
    const key = sourceKey(source);
    if (!places.has(key)) places.set(key, find(source));
    return places.get(key);
  };

  const find = (source: Source) => {
    if (source.kind !== 'property' && source.kind !== 'hasProperty') return;
    const base = fixedAt(source.base);
    const object = base ? base.value : now(source.base);
    if (typeof object !== 'object' || !object || !Object.isFrozen(object)) return;
    const own = Object.getOwnPropertyDescriptor(object, source.key);
    if (!own || own.get || own.set) return;
    if (!base) {
      roots.set(sourceKey(source.base), { kind: 'identity', source: source.base, value: object });
    }
    return { value: source.kind === 'property' ? own.value : true };
  };

  const now = (source: Source) => {
    try {
      return reads.reader(source, true)(frames);
    } catch {
      // A getter or a Proxy.
    }
  };

  /** The place by its nearest object that is fixed. */
  const shortened = (source: Source): Source => {
    const value: unknown = fixedAt(source)?.value;
    if (typeof value === 'object' && value) return { kind: 'held', value, name: '' };
    return 'base' in source ? { ...source, base: shortened(source.base) } : source;
  };

  let isAsked = false;
  const kept = guards.flatMap((guard): Guard[] => {
    if (ofValues.test(guard.kind) && sourcesOf(guard).every(fixedAt)) {
      // What else may change of an array concerns all of them alike.
      if (guard.kind !== 'plainArray' || isAsked) return [];
      isAsked = true;
    }
    return 'source' in guard ? [{ ...guard, source: shortened(guard.source) } as Guard] : [guard];
  });
  return guards.length - kept.length < worthIt ? null : [...roots.values(), ...kept];
}
