/** `new`: built-in containers and instances of user classes are created in the trace. */

import { TostaticError } from '../../../runtime/errors/errors.ts';
import type { CollectionType } from '../../guards/collection-slots.ts';
import { isProxy } from '../../guards/plain.ts';
import { typedArrayTypes } from '../../guards/types/typed-array-types.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { isIgnoredFile, isNotToStatic } from '../../traces/policy.ts';
import type { Reg } from '../../vm/bytecode/instructions.ts';
import { setEntry } from '../heap/collections.ts';
import { newObject } from '../heap/made-objects.ts';
import { expectHeldWeakly } from '../heap/weak-keys.ts';
import { nameAt } from '../state/current-instruction.ts';
import { errorTypes, isAggregate, makeError } from '../state/exceptions.ts';
import { isFrameworkFile, isInlinedFrameworkFile } from '../state/framework-files.ts';
import type { Tracer } from '../state/tracer.ts';
import {
  constantOf,
  guardIdentity,
  guardKind,
  isNullish,
  isUndefined,
} from '../state/value-guards.ts';
import { eachElement, expand } from '../values/iterators.ts';
import { constructPlainly } from '../values/objects/plain-constructors.ts';
import { newRegExp } from '../values/objects/regular-expressions.ts';
import { readProperty } from '../values/properties.ts';
import { hasProperty } from '../values/property-keys.ts';
import { isPristine } from '../values/protocols.ts';
import { isPrimitiveVariable, joinedText } from '../values/to-primitive.ts';
import { newTypedArray } from '../values/typed-arrays.ts';
import { isRefused } from '../variables/code-of.ts';
import type { ClassVariable } from '../variables/function-variables.ts';
import { type Callee, calledFrame } from '../variables/trace-frame.ts';
import { specialized } from '../variables/unions.ts';
import {
  type FunctionVariable,
  hole,
  type NewArrayVariable,
  type NewCollectionVariable,
  type NewObjectVariable,
  newArray,
  type ObjectVariable,
  type OwnPart,
  undefinedVariable,
  uninitializedVariable,
  type Variable,
} from '../variables/variable.ts';
import { newBuffer } from './buffers.ts';
import type { BuiltinTable, HostFunction } from './builtin.ts';
import { newHost } from './host-objects.ts';
import { asObject, entryOf } from './objects.ts';
import { raiseWhatConstructorThrows } from './thrown-by-host.ts';

/** Returns the object; undefined if a frame was pushed, whose return provides it. */
export function construct(
  t: Tracer,
  callee: Variable,
  args: readonly Variable[],
  returnTo: Reg | undefined,
): Variable | undefined {
  try {
    return constructKnown(t, callee, args, returnTo);
  } catch (error) {
    if (error instanceof GraphBreak && callee.kind === 'function') {
      raiseWhatConstructorThrows(t, callee, args);
    }
    throw error;
  }
}

function constructKnown(
  t: Tracer,
  callee: Variable,
  args: readonly Variable[],
  returnTo: Reg | undefined,
): Variable | undefined {
  const type: unknown = callee.kind === 'function' ? callee.value : undefined;
  if (callee.kind === 'function') {
    const collection = collectionOf.get(type);
    if (collection) {
      guardIdentity(t, callee);
      return newCollection(t, collection, args[0]);
    }
    if (type === WeakRef) {
      guardIdentity(t, callee);
      return newWeakRef(t, args[0] ?? undefinedVariable);
    }
    if (type === Object) {
      guardIdentity(t, callee);
      const object = asObject(t, undefinedVariable, args);
      if (object) return object;
    }
    if (type === RegExp) {
      guardIdentity(t, callee);
      const expression = newRegExp(t, args);
      if (expression) return expression;
    }
    if (errorTypes.has(type)) {
      guardIdentity(t, callee);
      return newError(t, type as ErrorConstructor, args);
    }
    const memory = newBuffer(t, callee, args);
    if (memory) return memory;
    if (typedArrayTypes.has(type)) {
      guardIdentity(t, callee);
      return newTypedArray(t, type, args[0]);
    }
    const host = newHost(t, callee, args);
    if (host) return host;
    if (type === Array) {
      guardIdentity(t, callee);
      return newElements(t, args);
    }
    return enterConstructor(t, callee, args, callee, returnTo);
  }
  if (callee.kind === 'class') return enterMadeConstructor(t, callee, args, callee, returnTo);
  throw new GraphBreak('constructor', `new ${nameAt(t.top)}()`);
}

/** Pushes the constructor of a class created in the trace. */
export function enterMadeConstructor(
  t: Tracer,
  type: ClassVariable,
  args: readonly Variable[],
  newTarget: Variable,
  returnTo: Reg | undefined,
): undefined {
  const { code, outer, cells, prototype } = type;
  const closure = { code, scope: outer.scope, homeObject: undefined };
  const callee = { closure, cells, home: prototype, made: type };
  return pushConstructor(t, callee, args, newTarget, returnTo);
}

/** Pushes a constructor. The instance of a base class exists from the start. */
function pushConstructor(
  t: Tracer,
  callee: Pick<Callee, 'closure' | 'cells' | 'home' | 'made'>,
  args: readonly Variable[],
  newTarget: Variable,
  returnTo: Reg | undefined,
): undefined {
  const { code } = callee.closure;
  const isBase = code.kind === 'constructor';
  const thisVariable = isBase ? newInstance(t, newTarget) : uninitializedVariable;
  const { gradMode, guard } = t.top;
  t.push(calledFrame({ ...callee, thisVariable, args, newTarget }, { returnTo, gradMode, guard }));
  return undefined;
}

/**
 * Pushes the constructor of a user class. The instance of a base class exists from the start and inherits from
 * `newTarget`, the class after `new`. If the class extends a built-in error, returns the instance.
 */
export function enterConstructor(
  t: Tracer,
  type: FunctionVariable,
  args: readonly Variable[],
  newTarget: Variable,
  returnTo: Reg | undefined,
): Variable | undefined {
  if (errorTypes.has(type.value)) {
    if (newTarget.kind === 'class') {
      throw new GraphBreak('constructor', 'an error of a class that captured code creates');
    }
    const { prototype } = newInstance(t, newTarget);
    return {
      ...newError(t, type.value as unknown as ErrorConstructor, args),
      prototype: prototype!,
    };
  }
  const container = newContainer(t, type, args, newTarget);
  if (container) return container;
  const refused = (why: string) =>
    new GraphBreak('constructor', `new ${type.value.name || 'a class'}(): ${why}`);
  if (isNotToStatic(type.value)) throw refused('it is excluded from capture');
  const plain = type === newTarget ? constructPlainly(t, type, args) : undefined;
  if (plain) return plain;
  if (t.control.plans.native.has(type.value)) {
    throw refused(
      'the object leaves the function, and only its class can add #private elements to it',
    );
  }
  // This package's modules construct errors only to throw them.
  const isThrown =
    type.value.prototype instanceof TostaticError &&
    isFrameworkFile(t.top.closure.code.source.file);
  if (isThrown) throw new GraphBreak('throw', 'a module rejects its input');
  const found = t.codeOf.construction(type.value);
  if (isRefused(found)) throw refused(found.native ? 'native code' : found.why);
  guardIdentity(t, type);
  const { closure } = found;
  const { file } = closure.code.source;
  if (isFrameworkFile(file) && !isInlinedFrameworkFile(file)) {
    throw refused('it is part of tostatic');
  }
  if (isIgnoredFile(file)) throw refused(`it is in ${file}`);
  return pushConstructor(t, { closure, cells: [] }, args, newTarget, returnTo);
}

/** `super()` of a class that extends a built-in container such as Array or Map; undefined for other parents. */
function newContainer(
  t: Tracer,
  type: FunctionVariable,
  args: readonly Variable[],
  newTarget: Variable,
): Variable | undefined {
  const value: unknown = type.value;
  const collection = collectionOf.get(value);
  if (!collection && value !== Array) return undefined;
  guardIdentity(t, type);
  const instance = newInstance(t, newTarget);
  if (collection) return newCollection(t, collection, args[0], instance);
  return { ...newElements(t, args), own: instance };
}

/** Creates an empty instance of the class, whose `prototype` must be read-only. */
function newInstance(t: Tracer, newTarget: Variable): NewObjectVariable {
  if (newTarget.kind === 'class') return newObject(t, newTarget.prototype);
  const type = newTarget.kind === 'function' ? newTarget : undefined;
  const field = type && Object.getOwnPropertyDescriptor(type.value, 'prototype');
  if (!type || !field || field.writable || isProxy(type.value)) {
    throw new GraphBreak('constructor', `new ${nameAt(t.top)}()`);
  }
  guardIdentity(t, type);
  const value = field.value as object;
  const source = { kind: 'held', value, name: `${type.value.name}.prototype` } as const;
  const prototype = t.read(source, value) as ObjectVariable;
  return { kind: 'newObject', entries: new Map(), prototype, madeIn: t.builder };
}

/** `Error(message)` without `new` creates an error, too. */
export const errorBuiltins: BuiltinTable = [...errorTypes].map((type) => [
  type as HostFunction,
  (t, _receiver, args) => newError(t, type as ErrorConstructor, args),
]);

/** Creates an error with a known message; each run creates its own error. */
function newError(t: Tracer, type: ErrorConstructor, args: readonly Variable[]): NewObjectVariable {
  if (isAggregate(type)) {
    // The errors are iterated after the other arguments, into a new array.
    const [errors = undefinedVariable, ...rest] = args;
    const error = errorOf(t, type, rest);
    error.entries.set('errors', newArray([...expand(t, errors)]));
    return error;
  }
  return errorOf(t, type, args);
}

function errorOf(t: Tracer, type: ErrorConstructor, args: readonly Variable[]): NewObjectVariable {
  const [message] = args;
  const isEmpty = !message || (isPrimitiveVariable(message) && isUndefined(t, message));
  const error = makeError(t, type, isEmpty ? undefined : joinedText(t, [message]));
  const options = args[1] && specialized(args[1]);
  if (!options || isPrimitiveVariable(options)) return error;
  if (constantOf(t, hasProperty(t, options, 'cause', false))) {
    error.entries.set('cause', readProperty(t, options, 'cause'));
    error.hasCause = true;
  }
  return error;
}

const collectionOf = new Map<unknown, CollectionType>(
  [Map, Set, WeakMap, WeakSet].map((type) => [type, type.name as CollectionType]),
);

const filling = {
  Map: 'filledMap',
  Set: 'filledSet',
  WeakMap: 'filledWeakMap',
  WeakSet: 'filledWeakSet',
} as const;

function newCollection(
  t: Tracer,
  type: CollectionType,
  content: Variable | undefined,
  own?: OwnPart,
): NewCollectionVariable {
  const collection: NewCollectionVariable = {
    kind: 'newCollection',
    type,
    entries: new Map(),
    putIn: [],
    own,
  };
  if (content === undefined || isNullish(t, content)) return collection;
  if (own) return filled(t, collection, content);
  if (!isPristine(t, filling[type])) {
    throw new GraphBreak('constructor', `new ${type}() calls a method that was replaced`);
  }
  eachElement(t, content, (item) => {
    if (type === 'Set' || type === 'WeakSet') {
      if (type === 'WeakSet') expectHeldWeakly(t, 'WeakSet', item);
      setEntry(t, collection, 'add', { key: item, value: item });
    } else {
      const [key, value] = entryOf(t, item);
      if (type === 'WeakMap') expectHeldWeakly(t, 'WeakMap', key);
      setEntry(t, collection, 'set', { key, value });
    }
  });
  return collection;
}

/** Creates a WeakRef. Its target lives as long as the run; natively, it lives until the end of the job. */
function newWeakRef(t: Tracer, target: Variable): NewCollectionVariable {
  expectHeldWeakly(t, 'WeakRef', target);
  const collection: NewCollectionVariable = {
    kind: 'newCollection',
    type: 'WeakRef',
    entries: new Map(),
    putIn: [],
  };
  setEntry(t, collection, 'add', { key: target, value: target });
  return collection;
}

/** Adds each entry with the `add` or `set` method, which a subclass may override. */
function filled(
  t: Tracer,
  collection: NewCollectionVariable,
  content: Variable,
): NewCollectionVariable {
  const isSet = collection.type === 'Set' || collection.type === 'WeakSet';
  const method = readProperty(t, collection, isSet ? 'add' : 'set');
  eachElement(t, content, (item) => {
    t.execution.callInside(method, collection, isSet ? [item] : [...entryOf(t, item)]);
  });
  return collection;
}

/** `new Array(n)` has n holes; `new Array(a, b)` has two elements. */
export function newElements(t: Tracer, args: readonly Variable[]): NewArrayVariable {
  const [only] = args;
  if (args.length !== 1 || only === undefined) return newArray(args);
  if (only.kind !== 'constant' && only.kind !== 'symbolic') {
    // Another call may pass a number.
    guardKind(t, only);
    return newArray(args);
  }
  const length = constantOf(t, only);
  if (typeof length !== 'number') return newArray(args);
  if (!Number.isInteger(length) || length < 0 || length > 2 ** 16) {
    throw new GraphBreak('native-call', `an array of length ${length} is made`);
  }
  return newArray(new Array<Variable>(length).fill(hole));
}
