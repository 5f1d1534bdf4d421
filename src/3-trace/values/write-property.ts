/** Writes and deletes properties: immediately for objects created in the trace, otherwise after the run. */

import { accessorOf, allows, isProxy } from '../../guards/plain.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { isIndex } from '../../vm/language/index-key.ts';
import { setArgument } from '../heap/cell-content.ts';
import {
  deleteOwn,
  isExtensible,
  type Key,
  ownAttributes,
  setOwnProperty,
  setPrototype,
} from '../heap/made-objects.ts';
import { callsSetter, defaultPrototype, expectDataBelow } from '../heap/setters.ts';
import { writeStatic } from '../heap/static-writes.ts';
import { isAggregate } from '../state/exceptions.ts';
import { expectUnlisted } from '../state/listed.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf, guardChange, isNull } from '../state/value-guards.ts';
import { present, specialized } from '../variables/unions.ts';
import {
  absent,
  type FunctionVariable,
  type NewObjectVariable,
  type ObjectVariable,
  type OwnPart,
  prototypeOf,
  type Variable,
} from '../variables/variable.ts';
import { deleteElement, setElement, setLength } from './array-changes.ts';
import { asArray } from './arrays.ts';
import { heldFunction } from './getters.ts';
import { isOuterTypedArray, writeOuterElement } from './outer-typed-arrays.ts';
import { expectNoParameters } from './properties.ts';
import { writeTensorGrad } from './tensor-properties.ts';
import { isPrimitiveVariable } from './to-primitive.ts';
import { writeTypedArray } from './typed-array-elements.ts';

export function writeProperty(t: Tracer, target: Variable, key: Key, value: Variable): void {
  const object = specialized(target);
  switch (object.kind) {
    case 'newObject':
      writeMade(t, object, key, value);
      return;
    case 'newArray':
      if (object.isArguments) {
        if (isIndex(key) && setArgument(t, object, Number(key), value)) return;
        break;
      }
      if (isIndex(key)) {
        setElement(t, object, Number(key), value);
        return;
      }
      if (key === 'length') {
        setLength(t, object, constantOf(t, value) as number);
        return;
      }
      if (!object.own) break;
      writeMade(t, object.own, key, value, object);
      return;
    case 'newCollection':
      if (!object.own) break;
      writeMade(t, object.own, key, value, object);
      return;
    case 'regexp':
      if (key !== 'lastIndex') break;
      if (t.isInRegion) break;
      t.journal.set(object, 'lastIndex', constantOf(t, value) as number);
      return;
    case 'newTypedArray':
      if (typeof key === 'symbol') break;
      writeTypedArray(t, object, key, value);
      return;
    case 'newHost': {
      const prototype = Object.getPrototypeOf(object.value) as object;
      const name = `${prototype.constructor.name}.prototype`;
      const source = { kind: 'held', value: prototype, name } as const;
      if (callsSetter(t, { kind: 'object', value: prototype, source }, object, key, value)) return;
      break;
    }
    case 'tensor':
      if (key !== 'grad') break;
      writeTensorGrad(t, object, value);
      return;
    case 'class':
      writeStatic(t, object, key, value);
      return;
    case 'object':
    case 'function':
      writeOuterProperty(t, object, key, value);
      return;
    default:
  }
  throw new GraphBreak('object-write', `the property ${String(key)} is assigned`);
}

/**
 * `super.key = value`: calls a setter found on the home object's prototypes, otherwise writes the receiver's own
 * property.
 */
export function writeSuper(
  t: Tracer,
  base: Variable,
  receiver: Variable,
  key: Key,
  value: Variable,
): void {
  const object = specialized(receiver);
  const isMade = base.kind === 'newObject';
  if (object.kind === 'newObject' && (isMade || base.kind === 'object')) {
    writeMade(t, object, key, value, object, base);
    return;
  }
  if (object.kind === 'class' && (base.kind === 'class' || isOuter(base))) {
    writeStatic(t, object, key, value, base);
    return;
  }
  if (isOuter(object) && isOuter(base)) {
    if (callsSetter(t, base, object, key, value)) return;
    if (!accessorOf(object.value, key)) {
      expectDataBelow(t, base, key);
      writeOuterProperty(t, object, key, value);
      return;
    }
  }
  throw new GraphBreak('object-write', `the property ${String(key)} is assigned`);
}

const isOuter = (variable: Variable): variable is ObjectVariable | FunctionVariable =>
  variable.kind === 'object' || variable.kind === 'function';

/** `receiver`: the `this` of a setter. `from`: where the search for a setter begins. */
function writeMade(
  t: Tracer,
  object: NewObjectVariable,
  key: Key,
  value: Variable,
  receiver: Variable = object,
  from: NewObjectVariable | ObjectVariable = object,
): void {
  expectUnlisted(object);
  const refused = () => new GraphBreak('object-write', `the property ${String(key)} is assigned`);
  let above: NewObjectVariable | ObjectVariable | null | undefined = from;
  for (; above?.kind === 'newObject'; above = prototypeOf(above)) {
    const attributes = ownAttributes(above, key);
    if (!attributes) continue;
    if (attributes.accessor?.set) {
      t.execution.callInside(attributes.accessor.set, receiver, [value]);
      return;
    }
    // A failed assignment is silent or throws, depending on strict mode.
    if (!attributes.writable) throw refused();
    above = null;
    break;
  }
  // An object literal inherits only the setter of `Object.prototype`.
  if (above === undefined && key === '__proto__' && hasSetter && !object.errorType) {
    assignPrototype(t, receiver, value);
    return;
  }
  if (above !== null) {
    const outer = above ?? defaultPrototype(object);
    if (callsSetter(t, outer, receiver, key, value)) return;
    expectDataBelow(t, outer, key);
  }
  const own = ownAttributes(object, key);
  if (own ? own.accessor || !own.writable : !isExtensible(object)) throw refused();
  setOwnProperty(t, object, key, value, own);
}

/** Node's `--disable-proto=delete` removes the setter: the property is then an ordinary one. */
const hasSetter = '__proto__' in Object.prototype;

/**
 * `object.__proto__ = value` and `{ __proto__: value }`: an object or null becomes the prototype; other values are
 * ignored.
 */
export function assignPrototype(t: Tracer, object: Variable, variable: Variable): void {
  const value = specialized(variable);
  if (isPrimitiveVariable(value) && !isNull(t, value)) return;
  if (object.kind !== 'newObject') {
    throw new GraphBreak('unsupported-value', 'a prototype is given');
  }
  setPrototype(t, object, value);
}

/**
 * Returns whether the error constructor sets the property, which is then not enumerable; a field of that name
 * would be.
 */
const isOfError = ({ errorType }: NewObjectVariable, key: Key): boolean =>
  errorType !== undefined &&
  (key === 'message' ||
    key === 'cause' ||
    key === 'stack' ||
    (key === 'errors' && isAggregate(errorType)));

/** Returns the object part with the named properties, for an array, Map or Set of a user class. */
const ownPart = (object: Variable): OwnPart | undefined =>
  object.kind === 'newArray' || object.kind === 'newCollection' ? object.own : undefined;

/** Defines an own data property without calling setters, as literals and class fields do. */
export function defineProperty(t: Tracer, object: Variable, key: Key, value: Variable): void {
  // An object literal that was begun before a graph break.
  const isOuter = object.kind === 'object' && !isProxy(object.value);
  if (isOuter && !accessorOf(object.value, key)) {
    writeProperty(t, object, key, value);
    return;
  }
  if (object.kind === 'class' && key !== 'prototype') {
    setOwnProperty(t, object.statics, key, value);
    return;
  }
  const part = ownPart(object);
  if (part && !isIndex(key) && key !== 'length') {
    defineProperty(t, part, key, value);
    return;
  }
  const isPossible = object.kind === 'newObject' && isExtensible(object) && !isOfError(object, key);
  if (!isPossible) throw new GraphBreak('object-write', `the property ${String(key)} is defined`);
  setOwnProperty(t, object, key, value);
}

function writeOuterProperty(
  t: Tracer,
  object: ObjectVariable | FunctionVariable,
  key: Key,
  value: Variable,
): void {
  expectNoParameters(object.value, key);
  if (
    object.kind === 'object' &&
    typeof key === 'string' &&
    isIndex(key) &&
    isOuterTypedArray(object)
  ) {
    writeOuterElement(t, object, key, value);
    return;
  }
  if (isIndex(key) || key === 'length') {
    const array = asArray(t, object);
    if (array) {
      if (key === 'length') setLength(t, array, constantOf(t, value) as number);
      else setElement(t, array, Number(key), value);
      return;
    }
  }
  if (!isProxy(object.value) && callsSetter(t, object, object, key, value)) return;
  if (!allows(object.value, 'write', key) || isMadeSymbol(t, key)) {
    throw new GraphBreak('object-write', `the property ${String(key)} is assigned`);
  }
  const source = object.source ?? heldFunction(object);
  guardChange(t, source, 'write', key);
  // If the key may have been deleted, its position in the key order depends on that.
  const written = t.effects.written(object.value, source, key);
  if (written ? !present(written) : !Object.hasOwn(object.value, key)) {
    t.effects.settleOrder(object.value);
  }
  t.effects.write(object.value, source, key, value);
}

/** Writes are recorded by key, but each run creates a new symbol. */
const isMadeSymbol = (t: Tracer, key: Key): boolean =>
  typeof key === 'symbol' && t.symbols.has(key);

/** `delete object[key]` */
export function deleteProperty(t: Tracer, target: Variable, key: Key): void {
  const object = specialized(target);
  if (object.kind === 'newObject') {
    deleteOwn(t, object, key);
    return;
  }
  if (object.kind === 'newArray' && isIndex(key) && !object.growable && !object.isArguments) {
    deleteElement(t, object, Number(key));
    return;
  }
  const part = ownPart(object);
  if (part && !isIndex(key)) {
    deleteOwn(t, part, key);
    return;
  }
  if (object.kind === 'object' && allows(object.value, 'delete', key)) {
    expectNoParameters(object.value, key);
    guardChange(t, object.source, 'delete', key);
    t.effects.write(object.value, object.source, key, absent);
    return;
  }
  throw new GraphBreak('object-write', `the property ${String(key)} is deleted`);
}
