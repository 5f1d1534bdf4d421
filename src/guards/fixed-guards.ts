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
  const roots: Guard[] = [];
  /** The value of each place in a frozen object; null: another place. */
  const values = new Map<string, readonly [unknown] | null>();

  const fixedAt = (source: Source): readonly [unknown] | null => {
    if (source.kind !== 'property' && source.kind !== 'hasProperty') return null;
    const key = sourceKey(source);
    if (!values.has(key)) {
      const object = frozenAt(source.base);
      const own = object && Object.getOwnPropertyDescriptor(object, source.key);
      const isKept = own && (source.kind === 'hasProperty' || 'value' in own);
      values.set(key, isKept ? [source.kind === 'property' ? own.value : true] : null);
    }
    return values.get(key)!;
  };

  const rooted = new Map<string, object | null>();
  const frozenAt = (source: Source): object | null => {
    const fixed = fixedAt(source);
    if (fixed) return frozen(fixed[0]);
    const key = sourceKey(source);
    if (!rooted.has(key)) {
      const value = frozen(readNow(source));
      rooted.set(key, value);
      if (value) roots.push({ kind: 'identity', source, value });
    }
    return rooted.get(key)!;
  };

  const readNow = (source: Source): unknown => {
    try {
      return reads.reader(source, true)(frames);
    } catch {
      // A getter or a Proxy.
      return null;
    }
  };

  /** The place by its nearest object that is fixed. */
  const shortened = (source: Source): Source => {
    const value = fixedAt(source)?.[0];
    if (typeof value === 'object' && value) return { kind: 'held', value, name: 'fixed' };
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
  return guards.length - kept.length < worthIt ? null : [...roots, ...kept];
}

const frozen = (value: unknown): object | null =>
  typeof value === 'object' && value && Object.isFrozen(value) ? value : null;
