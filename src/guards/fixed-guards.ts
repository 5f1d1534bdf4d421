import { Tensor } from '../../runtime/tensor/tensor.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import type { Guard } from './guard.ts';
import { sourcesOf } from './guard-sources.ts';
import { isProxy } from './plain.ts';
import { PlainReads } from './plain-reads.ts';
import type { Source } from './source.ts';
import { sourceKey } from './source-key.ts';

/** Fewer guards are as soon checked as looked for. */
const worthIt = 32;

/** Guards on the value in a place, and nothing else that may change. */
const ofValues = /^(value|truthy|defined|typeof|isArray|identity|number|data|plainArray)$/;
/** Guards on the kind of a value, which is that of an object forever. */
const ofObjects = /^(truthy|defined|typeof|isArray)$/;

/**
 * The guards without those on what can't change: an own property of a frozen object has its value forever, so one guard on
 * which object it is replaces all guards on what it holds. What it inherits is asked of its prototype, which stays the same
 * one, once for all objects that inherit it. `frames`: a call in which all guards hold. Null where that saves little; another
 * object with the same properties fails these guards, and not the given ones.
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

  /** The frozen object that the source goes through. */
  const frozenBehind = (source: Source): object | undefined => {
    if (!('base' in source)) return;
    const base = fixedAt(source.base);
    const object = base ? base.value : now(source.base);
    if (typeof object !== 'object' || !object || isProxy(object)) return;
    return Object.isFrozen(object) ? object : undefined;
  };

  const find = (source: Source) => {
    const object = frozenBehind(source);
    const found = object && valueIn(object, source);
    if (found) guardRoot(source, object);
    return found;
  };

  const guardRoot = (source: Source, value: object): void => {
    if (!('base' in source) || fixedAt(source.base)) return;
    roots.set(sourceKey(source.base), { kind: 'identity', source: source.base, value });
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
    if (source.kind === 'property' || (source.kind === 'hasProperty' && !source.own)) {
      const object = frozenBehind(source);
      // Otherwise it would be an own property of the object, which is fixed, or none that another object could inherit.
      if (object && !Object.hasOwn(object, source.key)) {
        guardRoot(source, object);
        const prototype = Object.getPrototypeOf(object) as object;
        return { ...source, base: { kind: 'held', value: prototype, name: '' } };
      }
    }
    return 'base' in source ? { ...source, base: shortened(source.base) } : source;
  };

  let isAsked = false;
  const asked = new Map<string, unknown>();
  const kept = guards.flatMap((guard): Guard[] => {
    if (ofValues.test(guard.kind) && sourcesOf(guard).every(fixedAt)) {
      // What else may change of an array concerns all of them alike.
      if (guard.kind !== 'plainArray' || isAsked) return [];
      isAsked = true;
    }
    if (!('source' in guard)) return [guard];
    const source = shortened(guard.source);
    const key = `${guard.kind} ${sourceKey(source)}`;
    const expected = expectedOf(guard);
    if (expected !== undefined && asked.get(key) === expected) return [];
    asked.set(key, expected);
    return [{ ...guard, source } as Guard];
  });
  // Which object a place holds says what kind of value it is.
  const isImplied = (guard: Guard) =>
    ofObjects.test(guard.kind) && sourcesOf(guard).every((source) => roots.has(sourceKey(source)));
  const left = kept.filter((guard) => !isImplied(guard));
  return guards.length - left.length < worthIt ? null : [...roots.values(), ...left];
}

/** Returns the value that a source reads of a frozen object, if it is fixed. */
function valueIn(object: object, source: Source): { readonly value: unknown } | undefined {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (source.kind === 'instanceOf') {
    // A prototype that inherits nothing, forever.
    const isPlain = prototype === Object.prototype && source.type === Tensor;
    return isPlain ? { value: false } : undefined;
  }
  if (source.kind !== 'property' && source.kind !== 'hasProperty') return;
  const own = Object.getOwnPropertyDescriptor(object, source.key);
  if (own) {
    if (source.kind === 'hasProperty') return { value: true };
    return own.get || own.set ? undefined : { value: own.value as unknown };
  }
  if (source.kind === 'hasProperty' && source.own) return { value: false };
  if (prototype !== null) return;
  return { value: source.kind === 'hasProperty' ? false : undefined };
}

/** Returns the value that a guard expects: two guards on one place that expect the same are one. */
function expectedOf(guard: Guard): unknown {
  switch (guard.kind) {
    case 'identity':
    case 'value':
      return guard.value;
    case 'truthy':
      return guard.truthy;
    case 'typeof':
      return guard.type;
    case 'isArray':
      return guard.isArray;
    case 'defined':
      return true;
    default:
      return undefined;
  }
}
