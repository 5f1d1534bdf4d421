import { Tensor } from '../../runtime/tensor/tensor.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import { owns } from '../vm/language/primordials.ts';
import type { Guard } from './guard.ts';
import { sourcesOf } from './guard-sources.ts';
import { isProxy } from './plain.ts';
import { readerOfCall } from './plain-reads.ts';
import type { Source } from './source.ts';
import { sourceKey } from './source-key.ts';

/** Fewer guards than this are as fast as their replacement. */
const worthIt = 32;

/** Guards that depend only on the value at a location. */
const ofValues = /^(value|truthy|defined|typeof|isArray|identity|number|data|plainArray)$/;

/**
 * Returns the guards without those on immutable facts: an own property of a frozen object never changes, so one guard
 * on the object's identity replaces all guards on its content. Properties inherited from a frozen prototype are guarded
 * once, on the prototype. `frames`: a call in which all guards hold. Null if that saves little: the new guards also
 * reject other objects with the same properties.
 */
export function withoutFixed(guards: readonly Guard[], frames: readonly Frame[]): Guard[] | null {
  const { roots, fixedAt, shortened } = frozenLocations(frames);
  let isArrayChecked = false;
  const checked = new Map<string, readonly unknown[]>();
  const kept = guards.flatMap((guard): Guard[] => {
    if (ofValues.test(guard.kind) && sourcesOf(guard).every(fixedAt)) {
      // The remaining facts are the same for all arrays.
      if (guard.kind !== 'plainArray' || isArrayChecked) return [];
      isArrayChecked = true;
    }
    if (!owns(guard, 'source')) return [guard];
    const source = shortened(guard.source);
    const key = `${guard.kind} ${sourceKey(source)}`;
    const facts = Object.values({ ...guard, source: null });
    const before = checked.get(key);
    checked.set(key, facts);
    if (before?.every((fact, i) => fact === facts[i])) return [];
    return [{ ...guard, source } as Guard];
  });
  return guards.length - kept.length < worthIt ? null : [...roots.values(), ...kept];
}

/** Finds locations in frozen objects; `roots` are the identity guards of the objects that it has read through. */
function frozenLocations(frames: readonly Frame[]) {
  const now = readerOfCall(frames);
  const roots = new Map<string, Guard>();
  const places = new Map<string, { readonly value: unknown } | undefined>();

  /** Returns the value at a location in a frozen object. */
  const fixedAt = (source: Source) => {
    const key = sourceKey(source);
    if (!places.has(key)) places.set(key, find(source));
    return places.get(key);
  };

  /** Returns the frozen object that the source reads through. */
  const frozenBehind = (source: Source): object | undefined => {
    if (!owns(source, 'base')) return;
    const base = fixedAt(source.base);
    const object = base ? base.value : now(source.base);
    if (typeof object !== 'object' || !object || isProxy(object) || !Object.isFrozen(object))
      return;
    if (!base) {
      roots.set(sourceKey(source.base), { kind: 'identity', source: source.base, value: object });
    }
    return object;
  };

  const find = (source: Source) => {
    const object = frozenBehind(source);
    return object && valueIn(object, source);
  };

  /** Expresses the location by its nearest immutable object. */
  const shortened = (source: Source): Source => {
    const value: unknown = fixedAt(source)?.value;
    if (typeof value === 'object' && value) return { kind: 'held', value, name: '' };
    if (source.kind === 'property' || (source.kind === 'hasProperty' && !source.own)) {
      const object = frozenBehind(source);
      // Otherwise the property is an immutable own one of the object, or only this object could inherit it.
      const value: unknown = object && Object.getPrototypeOf(object);
      if (value && !Object.hasOwn(object!, source.key)) {
        return { ...source, base: { kind: 'held', value, name: '' } };
      }
    }
    return owns(source, 'base') ? { ...source, base: shortened(source.base) } : source;
  };

  return { roots, fixedAt, shortened };
}

/** Returns the value that a source reads from a frozen object, if it is immutable. */
function valueIn(object: object, source: Source): { readonly value: unknown } | undefined {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (source.kind === 'instanceOf') {
    // A frozen object keeps its prototype.
    const isPlain = prototype === Object.prototype && source.type === Tensor;
    return isPlain ? { value: false } : undefined;
  }
  const isPresence = source.kind === 'hasProperty';
  if (!isPresence && source.kind !== 'property') return;
  const descriptor = Object.getOwnPropertyDescriptor(object, source.key);
  if (descriptor?.get || descriptor?.set) return;
  // An absent property may be inherited later.
  if (!descriptor && prototype && !(isPresence && source.own)) return;
  return { value: isPresence ? descriptor !== undefined : (descriptor?.value as unknown) };
}
