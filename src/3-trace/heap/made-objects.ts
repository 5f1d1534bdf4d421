/** Own properties of objects created in the trace, including attributes and accessors. */

import { GraphBreak } from '../../traces/graph-break.ts';
import { isHiddenOfError } from '../state/exceptions.ts';
import { expectUnlisted } from '../state/listed.ts';
import type { Tracer } from '../state/tracer.ts';
import { guardKind } from '../state/value-guards.ts';
import { kindName } from '../variables/kind-names.ts';
import { isPrivateKey } from '../variables/private-elements.ts';
import { present } from '../variables/unions.ts';
import {
  type Attributes,
  type NewObjectVariable,
  type ObjectTraits,
  type ObjectVariable,
  prototypeOf,
  undefinedVariable,
  type Variable,
} from '../variables/variable.ts';
import { makeRoom } from './key-order.ts';

export type Key = string | symbol;

/** Attributes of a property created by assignment. */
export const plainAttributes: Attributes = {
  enumerable: true,
  configurable: true,
  writable: true,
  accessor: null,
};

/** `prototype`: by default, the prototype of object literals. */
export function newObject(
  t: Tracer,
  prototype?: ObjectVariable | NewObjectVariable | null,
): NewObjectVariable {
  const object: NewObjectVariable = { kind: 'newObject', entries: new Map(), madeIn: t.builder };
  if (prototype === undefined) return object;
  if (prototype?.kind !== 'newObject') return { ...object, prototype };
  setPrototype(t, object, prototype);
  return object;
}

/** Returns the attributes of an own property; undefined if there is no such property. */
export function ownAttributes(object: NewObjectVariable, key: Key): Attributes | undefined {
  if (!present(ownContent(object, key))) return undefined;
  if (isHiddenOfError(object, key)) return { ...plainAttributes, enumerable: false };
  return object.traits?.attributes.get(key) ?? plainAttributes;
}

/** Returns the value of an own data property; undefined if there is no such property. */
export function ownContent(object: NewObjectVariable, key: Key): Variable | undefined {
  return typeof key === 'string' ? object.entries.get(key) : object.traits?.symbols.get(key);
}

/** Returns the own symbol keys in insertion order. */
export function ownSymbols({ traits }: NewObjectVariable): symbol[] {
  return traits ? [...traits.symbols.keys()].filter((key) => !isPrivateKey(key)) : [];
}

/** Adds or replaces an own property. An accessor has no content. */
export function setOwnProperty(
  t: Tracer,
  object: NewObjectVariable,
  key: Key,
  content: Variable,
  attributes: Attributes = plainAttributes,
): void {
  expectUnlisted(object);
  const isPlain =
    attributes.enumerable &&
    attributes.configurable &&
    attributes.writable &&
    attributes.accessor === null;
  const before = object.traits?.attributes.get(key);
  const isAsBefore = isPlain ? before === undefined : before === attributes;
  if (typeof key === 'string') {
    makeRoom(t, object, key);
    t.journal.keepMap(object.entries);
    object.entries.set(key, content);
    if (isAsBefore) return;
  } else if (isAsBefore && object.traits?.symbols.has(key)) {
    t.journal.keepMap(object.traits.symbols);
    object.traits.symbols.set(key, content);
    return;
  }
  const traits = changeTraits(t, object, key);
  if (typeof key === 'symbol') traits.symbols.set(key, content);
  if (isPlain) traits.attributes.delete(key);
  else traits.attributes.set(key, attributes);
}

export function defineAccessor(
  t: Tracer,
  object: NewObjectVariable,
  key: Key,
  half: { readonly get?: Variable; readonly set?: Variable },
  enumerable = true,
): void {
  const before = ownAttributes(object, key)?.accessor;
  const accessor = { get: before?.get ?? null, set: before?.set ?? null, ...half };
  setOwnProperty(t, object, key, undefinedVariable, {
    ...plainAttributes,
    enumerable,
    writable: false,
    accessor,
  });
}

export function deleteOwn(t: Tracer, object: NewObjectVariable, key: Key): void {
  expectUnlisted(object);
  if (ownAttributes(object, key)?.configurable === false) {
    throw new GraphBreak('throw', `the property ${String(key)} can't be deleted`);
  }
  if (typeof key === 'string') {
    t.journal.keepMap(object.entries);
    object.entries.delete(key);
  }
  if (!object.traits || (typeof key === 'string' && !object.traits.attributes.has(key))) return;
  const { symbols, attributes } = changeTraits(t, object);
  if (typeof key === 'symbol') symbols.delete(key);
  attributes.delete(key);
}

/** `prototype`: a pre-existing object, an object created in the trace, or null. */
export function setPrototype(t: Tracer, object: NewObjectVariable, prototype: Variable): void {
  const isKnown = prototype.kind === 'object' || prototype.kind === 'newObject';
  if (!isKnown && prototype.kind !== 'constant') {
    throw new GraphBreak('unsupported-value', `${kindName(prototype)} is a prototype`);
  }
  if (!isExtensible(object)) throw new GraphBreak('throw', 'the prototype is fixed');
  for (let at: Variable | null | undefined = isKnown ? prototype : null; at; ) {
    if (at === object) throw new GraphBreak('throw', 'a cycle of prototypes');
    at = at.kind === 'newObject' ? prototypeOf(at) : null;
  }
  // Nothing else guards that it is no primitive, which can't be a prototype.
  if (isKnown) guardKind(t, prototype);
  const traits = changeTraits(t, object);
  t.journal.set(traits, 'prototype', isKnown ? prototype : null);
}

/** Makes the object non-extensible. */
export function preventExtensions(t: Tracer, object: NewObjectVariable): void {
  const traits = changeTraits(t, object);
  t.journal.set(traits, 'extensible', false);
}

export const isExtensible = ({ traits }: NewObjectVariable): boolean =>
  traits?.extensible !== false;

/**
 * Returns the traits for modification. Changes of traits are not merged, so a branch or loop may change only the traits
 * of objects that it created.
 */
function changeTraits(t: Tracer, object: NewObjectVariable, key?: Key): ObjectTraits {
  if (t.isInRegion && object.madeIn !== t.builder) {
    throw new GraphBreak(
      'branch-effect',
      'in a branch or loop, an object from before it gets a symbol, a getter, a setter, a prototype or a private element, or is frozen or sealed',
    );
  }
  // Engines add their own properties to errors, but no private elements.
  if (object.errorType && !(key && isPrivateKey(key))) {
    throw new GraphBreak('object-write', 'an error gets a property other than by assignment');
  }
  let { traits } = object;
  if (!traits) {
    traits = { attributes: new Map(), symbols: new Map(), extensible: true };
    t.journal.set(object, 'traits', traits);
  }
  t.journal.keepMap(traits.attributes);
  t.journal.keepMap(traits.symbols);
  return traits;
}
