/**
 * Classes that captured code defines. Each run defines a new class, so neither a class created in the trace nor its
 * instances may escape: otherwise, the function is traced again and the class is created natively.
 */

import { isProxy } from '../../guards/plain.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { Code } from '../../vm/bytecode/code.ts';
import type { Tracer } from '../state/tracer.ts';
import { guardIdentity } from '../state/value-guards.ts';
import { isRefused } from '../variables/code-of.ts';
import type { ClassVariable } from '../variables/function-variables.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import { present, specialized } from '../variables/unions.ts';
import {
  type CellReference,
  known,
  type NewObjectVariable,
  type ObjectVariable,
  undefinedVariable,
  type Variable,
} from '../variables/variable.ts';
import {
  defineAccessor,
  type Key,
  newObject,
  ownAttributes,
  ownContent,
  plainAttributes,
  setOwnProperty,
} from './made-objects.ts';

/** Creates a class without members. `parent`: the value of the `extends` clause. */
export function makeClass(
  t: Tracer,
  frame: TraceFrame,
  code: Code,
  cells: readonly CellReference[],
  name: string,
  parent: Variable | null,
): ClassVariable {
  if (t.control.plans.native.has(code)) {
    throw new GraphBreak('unsupported-value', `the class ${name || 'without name'} is made`);
  }
  const base = parent && parentOf(t, parent);
  const variable: ClassVariable = {
    kind: 'class',
    code,
    outer: frame.closure,
    cells,
    name,
    parent: base,
    prototype: newObject(t, base ? prototypeFor(t, base) : undefined),
    statics: newObject(t, null),
  };
  t.classes.set(variable.prototype, code);
  setOwnProperty(t, variable.prototype, 'constructor', variable, hidden);
  return variable;
}

/**
 * Returns the parent: a user class or a built-in container. A class that extends any other built-in is created
 * natively.
 */
function parentOf(t: Tracer, variable: Variable): NonNullable<ClassVariable['parent']> {
  const parent = specialized(variable);
  if (parent.kind === 'class') return parent;
  const isClass =
    parent.kind === 'function' &&
    (containers.has(parent.value) || !isRefused(t.codeOf.construction(parent.value)));
  if (!isClass)
    throw new GraphBreak(
      'unsupported-value',
      'a class extends a built-in class or a value that is not a class',
    );
  guardIdentity(t, parent);
  return parent;
}

const containers: ReadonlySet<unknown> = new Set([Array, Map, Set, WeakMap, WeakSet]);

/** Returns the object that the prototype of a subclass inherits from. */
function prototypeFor(
  t: Tracer,
  type: NonNullable<ClassVariable['parent']>,
): NewObjectVariable | ObjectVariable {
  if (type.kind === 'class') return type.prototype;
  const { value, writable } = Object.getOwnPropertyDescriptor(type.value, 'prototype')!;
  if (writable) throw new GraphBreak('unsupported-value', 'a class extends a function');
  const source = { kind: 'held', value, name: `${type.value.name}.prototype` } as const;
  return t.read(source, value) as ObjectVariable;
}

/** Methods, accessors and `constructor` aren't enumerable. */
const hidden = { ...plainAttributes, enumerable: false };

/** Defines a method, or one half of an accessor, on the class or its prototype. */
export function defineMember(
  t: Tracer,
  home: Variable,
  key: Key,
  member: Variable,
  kind: 'value' | 'get' | 'set',
): void {
  const object = home.kind === 'class' ? home.statics : home;
  if (object.kind !== 'newObject' || (home.kind === 'class' && key === 'prototype')) {
    throw new GraphBreak('unsupported-value', 'a method is added to a pre-existing class');
  }
  if (kind === 'value') setOwnProperty(t, object, key, member, hidden);
  else defineAccessor(t, object, key, { [kind]: member }, false);
}

/** Returns the value of a class's own property; undefined if there is no such property. */
export function readStatic(
  t: Tracer,
  type: ClassVariable,
  receiver: Variable,
  key: Key,
): Variable | undefined {
  if (key === 'prototype') return type.prototype;
  const attributes = ownAttributes(type.statics, key);
  if (attributes?.accessor) {
    const { get } = attributes.accessor;
    return get ? t.execution.callInside(get, receiver, []) : undefinedVariable;
  }
  if (attributes) return present(ownContent(type.statics, key))!;
  if (key === 'name') return known(type.name);
  return key === 'length' ? known(type.code.parameterCount) : undefined;
}

/** Returns whether the class or a superclass overrides `Symbol.hasInstance`. */
export function overridesInstanceCheck(type: NonNullable<ClassVariable['parent']>): boolean {
  if (type.kind === 'class') {
    if (ownAttributes(type.statics, Symbol.hasInstance)) return true;
    return type.parent !== null && overridesInstanceCheck(type.parent);
  }
  return !isOrdinary(type.value);
}

/**
 * Returns whether `instanceof` has its built-in meaning for the type. Proxies are rejected first, so that no trap
 * runs.
 */
export function isOrdinary(type: object): boolean {
  for (let at: object | null = type; at; at = Object.getPrototypeOf(at) as object | null) {
    if (isProxy(at)) return false;
    const descriptor = Object.getOwnPropertyDescriptor(at, Symbol.hasInstance);
    if (descriptor) return descriptor.value === Function.prototype[Symbol.hasInstance];
  }
  return false;
}

/** Sets the class's name, as minifiers do in a static block. */
export function nameClass(t: Tracer, { statics }: ClassVariable, name: string): void {
  setOwnProperty(t, statics, 'name', known(name), { ...hidden, writable: false });
}
