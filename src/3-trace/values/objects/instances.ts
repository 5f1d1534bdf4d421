import { collectionPrototypes } from '../../../guards/collection-slots.ts';
import { isProxy } from '../../../guards/plain.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import { functionPrototype } from '../../../vm/language/function-prototypes.ts';
import { isOrdinary, overridesInstanceCheck } from '../../heap/made-classes.ts';
import type { Tracer } from '../../state/tracer.ts';
import { guardIdentity, guardPrimitive, sourceOf, truthiness } from '../../state/value-guards.ts';
import { kindName } from '../../variables/kind-names.ts';
import { specialized } from '../../variables/unions.ts';
import {
  type FunctionVariable,
  known,
  type NewObjectVariable,
  prototypeOf,
  type Variable,
} from '../../variables/variable.ts';
import { readProperty, readSymbol } from '../properties.ts';
import { isCallable, isPrimitiveVariable } from '../to-primitive.ts';

/** `value instanceof constructor` */
export function isInstance(t: Tracer, variable: Variable, callee: Variable): Variable {
  const [value, type] = [specialized(variable), specialized(callee)];
  const method = methodOfUser(t, type);
  if (method) return t.attempt(() => asBoolean(t, t.execution.callInside(method, type, [value])));
  if (type.kind === 'class' && !overridesInstanceCheck(type)) {
    return known(inheritsMade(value, type.prototype));
  }
  if (type.kind !== 'function') {
    throw new GraphBreak('unsupported-value', 'instanceof something created in the trace');
  }
  const { value: constructorFunction } = type;
  if (!isOrdinary(constructorFunction)) {
    throw new GraphBreak('unsupported-value', 'instanceof is defined by the user');
  }
  guardIdentity(t, type);
  const prototype = instancesPrototype(t, type);
  if (isPrimitiveVariable(value)) {
    guardPrimitive(t, value);
    return known(false);
  }
  const is =
    value.kind === 'object' || value.kind === 'function'
      ? inherits(value.value, prototype)
      : inherits(chainOf(value), prototype, true);
  // Another call may pass a value of another type.
  const source = sourceOf(value);
  return source
    ? t.read({ kind: 'instanceOf', base: source, type: constructorFunction }, is)
    : known(is);
}

/**
 * Returns the `Symbol.hasInstance` method of a user class or object; undefined if `instanceof` has its built-in
 * meaning.
 */
function methodOfUser(t: Tracer, type: Variable): Variable | undefined {
  const mayBeOverridden =
    type.kind === 'class'
      ? overridesInstanceCheck(type)
      : type.kind === 'function' || type.kind === 'object'
        ? !isProxy(type.value) && !isOrdinary(type.value)
        : type.kind === 'newObject';
  if (!mayBeOverridden) return undefined;
  const method = specialized(readSymbol(t, type, Symbol.hasInstance));
  return isCallable(method) ? method : undefined;
}

function asBoolean(t: Tracer, variable: Variable): Variable {
  const value = specialized(variable);
  if (value.kind !== 'scalar') return known(truthiness(t, value));
  if (value.type === 'boolean') return value;
  throw new GraphBreak('unsupported-value', 'instanceof is a data-dependent number');
}

/**
 * Returns the constructor's `prototype`. A plain function's can be replaced; a bound function has none and uses its
 * target's.
 */
function instancesPrototype(t: Tracer, type: FunctionVariable): object {
  const descriptor = Object.getOwnPropertyDescriptor(type.value, 'prototype');
  if (descriptor && 'value' in descriptor && !descriptor.writable)
    return descriptor.value as object;
  const prototype = specialized(readProperty(t, type, 'prototype'));
  if (prototype.kind !== 'object' && prototype.kind !== 'function') {
    throw new GraphBreak('throw', `the prototype of instances is ${kindName(prototype)}`);
  }
  guardIdentity(t, prototype);
  return prototype.value;
}

/** Only objects created in the trace can inherit from a prototype created in the trace. */
function inheritsMade(value: Variable, prototype: NewObjectVariable): boolean {
  const isContainer = value.kind === 'newArray' || value.kind === 'newCollection';
  if (isContainer) return value.own !== undefined && inheritsMade(value.own, prototype);
  let at: Variable | null | undefined = value;
  for (; at?.kind === 'newObject'; at = prototypeOf(at)) {
    if (at !== value && at === prototype) return true;
  }
  return false;
}

/** Returns the first pre-existing prototype of a tensor or of an object created in the trace. */
function chainOf(value: Variable): object | null {
  switch (value.kind) {
    case 'tensor':
      return Object.getPrototypeOf(value.actual ?? value.traced) as object;
    case 'newArray':
      if (value.own) return prototypeBehind(value.own);
      return value.isArguments ? Object.prototype : Array.prototype;
    case 'newObject':
      return prototypeBehind(value);
    case 'newCollection':
      if (value.own) return prototypeBehind(value.own);
      return collectionPrototypes[value.type];
    case 'newPromise':
      return Promise.prototype;
    case 'regexp':
      return RegExp.prototype;
    case 'newTypedArray':
      return Object.getPrototypeOf(value.data) as object;
    case 'newHost':
      return Object.getPrototypeOf(value.value) as object;
    case 'closure':
      return functionPrototype(value.code);
    case 'bound':
      return Function.prototype;
    default:
      throw new GraphBreak('unsupported-value', `${kindName(value)} instanceof`);
  }
}

/** Returns the first pre-existing prototype. */
function prototypeBehind(object: NewObjectVariable): object | null {
  const above = prototypeOf(object);
  if (above === undefined) return Object.prototype;
  if (above?.kind === 'newObject') return prototypeBehind(above);
  return above?.value ?? null;
}

function inherits(object: object | null, prototype: unknown, included = false): boolean {
  let at = included ? object : (Object.getPrototypeOf(object) as object | null);
  for (; at; at = Object.getPrototypeOf(at) as object | null) if (at === prototype) return true;
  return false;
}
