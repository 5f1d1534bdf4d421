import type { Frame } from '../vm/bytecode/frame.ts';
import type { Guard } from './guard.ts';
import { sourcesOf } from './guard-sources.ts';
import { PlainReads } from './plain-reads.ts';
import type { Source } from './source.ts';
import { sourceKey } from './source-key.ts';

/** Fewer guards are as soon checked as looked for. */
const worthIt = 32;

/**
 * The guards without those on what can't change: an own property of a frozen object has its value forever, so one guard on
 * which object it is replaces all guards on what it holds. `frames`: a call in which all of them hold. Null where that saves
 * little; another object with the same properties fails these guards, and not the given ones.
 */
export function withoutFixed(guards: readonly Guard[], frames: readonly Frame[]): Guard[] | null {
  const fixed = new FixedPlaces(frames);
  let isAsked = false;
  const kept = guards.flatMap((guard): Guard[] => {
    switch (guard.kind) {
      case 'value':
      case 'truthy':
      case 'defined':
      case 'typeof':
      case 'isArray':
      case 'identity':
        return fixed.at(guard.source) ? [] : [{ ...guard, source: fixed.shortened(guard.source) }];
      case 'number':
        return sourcesOf(guard).every((source) => fixed.at(source)) ? [] : [guard];
      case 'plainArray': {
        // What else may change concerns all arrays alike.
        if (!fixed.at(guard.source)) return [guard];
        const kept = isAsked ? [] : [guard];
        isAsked = true;
        return kept;
      }
      case 'data': {
        const sources = guard.sources.filter((source) => !fixed.at(source));
        return sources.length > 0 ? [{ ...guard, sources: sources.map(fixed.shortened) }] : [];
      }
      default:
        return 'source' in guard
          ? [{ ...guard, source: fixed.shortened(guard.source) } as Guard]
          : [guard];
    }
  });
  return guards.length - kept.length < worthIt ? null : [...fixed.roots.values(), ...kept];
}

interface Known {
  readonly value: unknown;
}

class FixedPlaces {
  /** Guards on the frozen objects that others are reached through, by their places. */
  readonly roots = new Map<string, Guard>();
  readonly #frames: readonly Frame[];
  readonly #reads = new PlainReads();
  readonly #known = new Map<string, Known | null>();

  constructor(frames: readonly Frame[]) {
    this.#frames = frames;
  }

  /** The value of a property that a frozen object has. */
  at(source: Source): Known | null {
    if (source.kind !== 'property' && source.kind !== 'hasProperty') return null;
    const key = sourceKey(source);
    let known = this.#known.get(key);
    if (known === undefined) {
      known = this.#read(source);
      this.#known.set(key, known);
    }
    return known;
  }

  #read(source: Source & { readonly kind: 'property' | 'hasProperty' }): Known | null {
    const object = this.#frozenAt(source.base);
    const own = object && Object.getOwnPropertyDescriptor(object, source.key);
    if (source.kind === 'property') return own && 'value' in own ? { value: own.value } : null;
    return object && (own || source.own) ? { value: own !== undefined } : null;
  }

  #frozenAt(source: Source): object | null {
    const known = this.at(source);
    const value = known ? known.value : this.#now(source);
    if (typeof value !== 'object' || value === null || !Object.isFrozen(value)) return null;
    if (!known) this.roots.set(sourceKey(source), { kind: 'identity', source, value });
    return value;
  }

  #now(source: Source): unknown {
    try {
      return this.#reads.reader(source, true)(this.#frames);
    } catch {
      // A getter or a Proxy.
      return undefined;
    }
  }

  /** The place by its nearest object that is fixed. */
  readonly shortened = (source: Source): Source => {
    const value = this.at(source)?.value;
    if (typeof value === 'object' && value !== null) return { kind: 'held', value, name: 'fixed' };
    return 'base' in source ? { ...source, base: this.shortened(source.base) } : source;
  };
}
