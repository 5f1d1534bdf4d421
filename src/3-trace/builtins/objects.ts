/** Functions of Object, Reflect and Function.prototype. */

import { GraphBreak } from '../../traces/graph-break.ts';
import { nameClass } from '../heap/made-classes.ts';
import {
  isExtensible,
  type Key,
  newObject,
  setOwnProperty,
  setPrototype,
} from '../heap/made-objects.ts';
import { typeError } from '../state/exceptions.ts';
import type { Tracer } from '../state/tracer.ts';
import {
  constantOf,
  guardIdentity,
  guardObject,
  isNullish,
  truthiness,
  typeOf,
} from '../state/value-guards.ts';
import { sameValueZero } from '../values/equality.ts';
import { eachElement } from '../values/iterators.ts';
import { expectWritable, isFixed } from '../values/objects/failed-writes.ts';
import { byHost } from '../values/objects/host-objects.ts';
import { isObjectVariable, prototypeVariable } from '../values/objects/prototype-variable.ts';
import { readFor, readKey, readProperty } from '../values/properties.ts';
import { copiedKeys, hasProperty, plainEntries, plainKeys } from '../values/property-keys.ts';
import { isPrimitiveVariable, withPropertyKey } from '../values/to-primitive.ts';
import { assignPrototype, deleteProperty, writeProperty } from '../values/write-property.ts';
import { specialized } from '../variables/unions.ts';
import { known, newArray, undefinedVariable, type Variable } from '../variables/variable.ts';
import type { Builtin, BuiltinTable, HostFunction } from './builtin.ts';
import {
  defineByDescriptor,
  fix,
  getDescriptor,
  hasIntegrity,
  keysArray,
  ownKeys,
  tryToDefine,
} from './descriptors.ts';

type Body = (t: Tracer, object: Variable, args: readonly Variable[]) => Variable | undefined;

/** Passes on the first argument, which must not be null or undefined. */
function onObject(body: Body): Builtin {
  return (t, _receiver, [value = undefinedVariable, ...rest]) => {
    const object = specialized(value);
    if (isPrimitiveVariable(object) && isNullish(t, object)) {
      throw typeError(t, 'Cannot convert undefined or null to object');
    }
    return body(t, object, rest);
  };
}

/** Passes on the first argument unless it is a primitive, which `Object` and `Reflect` treat differently. */
function onObjectOnly(body: Body): Builtin {
  return (t, _receiver, [value = undefinedVariable, ...rest]) => {
    const object = specialized(value);
    if (!isObjectVariable(object)) return undefined;
    guardObject(t, object);
    return body(t, object, rest);
  };
}

const [nothing] = [undefinedVariable];

/**
 * `Object.defineProperty(closure, 'name', { value, configurable: true })`, which minifiers wrap around every
 * function. Other properties of functions are defined natively.
 */
function nameByTool(t: Tracer, target: Variable, key: Variable, descriptor: Variable): boolean {
  if (target.kind !== 'closure' && target.kind !== 'class') return false;
  if (descriptor.kind !== 'newObject') return false;
  const [value, configurable] = ['value', 'configurable'].map((name) =>
    descriptor.entries.get(name),
  );
  if (constantOf(t, key) !== 'name' || value?.kind !== 'constant') return false;
  const name = constantOf(t, value);
  const isName = typeof name === 'string' && descriptor.entries.size === 2;
  if (!isName || configurable?.kind !== 'constant' || constantOf(t, configurable) !== true) {
    return false;
  }
  if (target.kind === 'class') {
    nameClass(t, target, name);
    return true;
  }
  t.journal.set(target, 'name', name);
  return true;
}

const defineProperty: Body = (t, target, [key = nothing, descriptor = nothing]) => {
  if (!isObjectVariable(target) || !isObjectVariable(specialized(descriptor))) return undefined;
  if (nameByTool(t, target, key, descriptor)) return target;
  withPropertyKey(t, key, (name) => defineByDescriptor(t, target, name, descriptor));
  return target;
};

const triesToDefine: Body = (t, target, [key = nothing, descriptor = nothing]) => {
  if (!isObjectVariable(specialized(descriptor))) return undefined;
  if (nameByTool(t, target, key, descriptor)) return known(true);
  return withPropertyKey(t, key, (name) =>
    known(tryToDefine(t, target, name, descriptor) === null),
  );
};

const defineProperties: Body = (t, target, [descriptors]) => {
  // Throws for undefined or null.
  if (!descriptors || !isObjectVariable(target) || isNullish(t, descriptors)) return undefined;
  for (const key of copiedKeys(t, descriptors)) {
    defineByDescriptor(t, target, key, readKey(t, descriptors, key));
  }
  return target;
};

const create: Builtin = (t, _receiver, [prototype = nothing, descriptors = nothing]) => {
  const above = specialized(prototype);
  const isNull = above.kind === 'constant' && constantOf(t, above) === null;
  if (!isNull && above.kind !== 'object' && above.kind !== 'newObject') return undefined;
  if (above.kind === 'object') guardIdentity(t, above);
  const object = newObject(
    t,
    isNull ? null : (above as Exclude<typeof above, { kind: 'constant' }>),
  );
  const isPlain = isPrimitiveVariable(descriptors) && isNullish(t, descriptors);
  return isPlain ? object : defineProperties(t, object, [descriptors]);
};

/** Returns key and value of an entry for `new Map()` and `Object.fromEntries()`. */
export function entryOf(t: Tracer, item: Variable): readonly [key: Variable, value: Variable] {
  if (isPrimitiveVariable(specialized(item))) {
    const value = constantOf(t, item);
    byHost(t, () => new Map([value as never]));
  }
  return [readProperty(t, item, '0'), readProperty(t, item, '1')];
}

function fromEntries(t: Tracer, items: Variable): Variable {
  const object = newObject(t);
  eachElement(t, items, (item) => {
    const [key, value] = entryOf(t, item);
    withPropertyKey(t, key, (name) => setOwnProperty(t, object, name, value));
  });
  return object;
}

const assign: Body = (t, target, sources) => {
  if (!isObjectVariable(target)) return undefined;
  for (const source of sources) {
    const from = specialized(source);
    if (isPrimitiveVariable(from) && isNullish(t, from)) continue;
    copiedKeys(t, from).forEach((key) => {
      const value = readKey(t, from, key);
      expectWritable(t, target, key);
      writeProperty(t, target, key, value);
    });
  }
  return target;
};

const hasOwn: Body = (t, object, [key = nothing]) =>
  withPropertyKey(t, key, (name) => hasProperty(t, object, name, true));

const descriptorOf: Body = (t, object, [key = nothing]) =>
  isPrimitiveVariable(object)
    ? undefined
    : withPropertyKey(t, key, (name) => getDescriptor(t, object, name));

const setPrototypeOf: Body = (t, object, [prototype = nothing]) => {
  if (object.kind === 'newArray' || (object.kind === 'object' && Array.isArray(object.value))) {
    throw new GraphBreak('unsupported-value', 'the prototype of an array is set');
  }
  if (object.kind !== 'newObject') return undefined;
  const above = specialized(prototype);
  if (isPrimitiveVariable(above)) {
    const value = constantOf(t, above);
    byHost(t, () => Object.setPrototypeOf({}, value as unknown as null) as unknown);
  }
  setPrototype(t, object, above);
  return object;
};

/** `Reflect.get(object, key, receiver)`: a getter is called on the receiver. */
function getFor(t: Tracer, object: Variable, receiver: Variable, key: Key): Variable | undefined {
  const { kind } = object;
  const isRead = kind === 'object' || kind === 'function' || kind === 'newObject';
  return isRead || kind === 'class' ? readFor(t, object, receiver, key) : undefined;
}

const is: Builtin = (t, _receiver, [a = nothing, b = nothing]) => {
  if (a.kind !== 'constant' || b.kind !== 'constant') {
    const isSame = sameValueZero(t, a, b);
    const areNumbers = a.kind === 'symbolic' || b.kind === 'symbolic';
    // `Object.is` distinguishes 0 from -0.
    if (!isSame || !areNumbers || !sameValueZero(t, a, known(0))) return known(isSame);
  }
  return known(Object.is(constantOf(t, a), constantOf(t, b)));
};

/** `Object(value)` and `new Object(value)`. */
export const asObject: Builtin = (t, _receiver, [value = nothing]) => {
  const result = specialized(value);
  if (isPrimitiveVariable(result)) return isNullish(t, result) ? newObject(t) : undefined;
  // Another call may pass a primitive.
  typeOf(t, result);
  truthiness(t, result);
  return result;
};

/** Node's `--disable-proto=delete` removes it. */
const proto = Object.getOwnPropertyDescriptor(Object.prototype, '__proto__');

const protoBuiltins = ({ get, set }: PropertyDescriptor): BuiltinTable => [
  [get as HostFunction, (t, receiver) => prototypeVariable(t, receiver)],
  [
    set as HostFunction,
    (t, receiver, [prototype = nothing]) => {
      if (receiver.kind !== 'newObject') return undefined;
      assignPrototype(t, receiver, prototype);
      return undefinedVariable;
    },
  ],
];

/** Returns true for success, like functions of `Reflect`. */
const worked =
  (body: Body): Body =>
  (t, object, args) =>
    body(t, object, args) && known(true);

/** `Reflect.setPrototypeOf(object, prototype)`: a non-extensible object accepts only the prototype that it has. */
const triesToSetPrototype: Body = (t, object, args) => {
  const above = specialized(args[0] ?? nothing);
  const isPossible = isObjectVariable(above) || (above.kind === 'constant' && above.value === null);
  if (object.kind === 'newObject' && !isExtensible(object) && isPossible) {
    return known(sameValueZero(t, prototypeVariable(t, object), above));
  }
  return worked(setPrototypeOf)(t, object, args);
};

export const objectBuiltins: BuiltinTable = [
  [
    Boolean as unknown as HostFunction,
    (t, _receiver, [value]) => known(value !== undefined && truthiness(t, value)),
  ],
  [Object as unknown as HostFunction, asObject],
  [Object.keys, onObject((t, object) => keysArray(plainKeys(t, object)))],
  [
    Object.values,
    onObject((t, object) => newArray(plainEntries(t, object).map(({ value }) => value))),
  ],
  [
    Object.entries,
    onObject((t, object) =>
      newArray(plainEntries(t, object).map(({ key, value }) => newArray([known(key), value]))),
    ),
  ],
  [Object.fromEntries, (t, _receiver, [items]) => items && fromEntries(t, items)],
  [Object.assign, onObject(assign)],
  [Object.create, create],
  [Object.is, is],
  [Object.hasOwn, onObject(hasOwn)],
  [Object.prototype.hasOwnProperty, (t, receiver, args) => hasOwn(t, receiver, args)],
  [Object.defineProperty, onObject(defineProperty)],
  [Object.defineProperties, onObject(defineProperties)],
  [Object.getOwnPropertyDescriptor, onObject(descriptorOf)],
  [
    Object.getOwnPropertyNames,
    onObject((t, object) =>
      isObjectVariable(object)
        ? keysArray(ownKeys(t, object).filter((key) => typeof key === 'string'))
        : keysArray(Object.getOwnPropertyNames(constantOf(t, object))),
    ),
  ],
  [
    Object.getOwnPropertySymbols,
    onObjectOnly((t, object) =>
      keysArray(ownKeys(t, object).filter((key) => typeof key === 'symbol')),
    ),
  ],
  [Object.getPrototypeOf, onObject((t, object) => prototypeVariable(t, object))],
  ...(proto ? protoBuiltins(proto) : []),
  [Object.setPrototypeOf, onObject(setPrototypeOf)],
  [Object.prototype.valueOf, (_t, receiver) => (isObjectVariable(receiver) ? receiver : undefined)],
  ...(['isFrozen', 'isSealed', 'isExtensible'] as const).map(
    (query) =>
      [
        Object[query] as HostFunction,
        (t: Tracer, _receiver: Variable, [object = nothing]: readonly Variable[]) =>
          hasIntegrity(t, object, query),
      ] as const,
  ),
  ...(['freeze', 'seal', 'preventExtensions'] as const).map(
    (how) =>
      [
        Object[how] as HostFunction,
        (t: Tracer, _receiver: Variable, [object = nothing]: readonly Variable[]) =>
          fix(t, object, how),
      ] as const,
  ),
  [Reflect.ownKeys, onObjectOnly((t, object) => keysArray(ownKeys(t, object)))],
  [
    Reflect.has,
    onObjectOnly((t, object, [key = nothing]) =>
      withPropertyKey(t, key, (name) => hasProperty(t, object, name, false)),
    ),
  ],
  [
    Reflect.get,
    onObjectOnly((t, object, [key = nothing, receiver]) =>
      withPropertyKey(t, key, (name) =>
        receiver ? getFor(t, object, receiver, name) : readKey(t, object, name),
      ),
    ),
  ],
  [
    Reflect.set,
    onObjectOnly((t, object, [key = nothing, value = nothing, receiver]) => {
      // With a receiver, a failed assignment would return false instead of throwing.
      if (receiver) return undefined;
      return withPropertyKey(t, key, (name) => {
        if (isFixed(t, object, name, 'write')) return known(false);
        writeProperty(t, object, name, value);
        return known(true);
      });
    }),
  ],
  [
    Reflect.deleteProperty,
    onObjectOnly((t, object, [key = nothing]) =>
      withPropertyKey(t, key, (name) => {
        if (isFixed(t, object, name, 'delete')) return known(false);
        deleteProperty(t, object, name);
        return known(true);
      }),
    ),
  ],
  [Reflect.getPrototypeOf, onObjectOnly((t, object) => prototypeVariable(t, object))],
  [Reflect.setPrototypeOf, onObjectOnly(triesToSetPrototype)],
  [Reflect.defineProperty, onObjectOnly(triesToDefine)],
  [Reflect.getOwnPropertyDescriptor, onObjectOnly(descriptorOf)],
  [Reflect.isExtensible, onObjectOnly((t, object) => hasIntegrity(t, object, 'isExtensible'))],
  [
    Reflect.preventExtensions,
    onObjectOnly(worked((t, object) => fix(t, object, 'preventExtensions'))),
  ],
  [
    Function.prototype.bind,
    (t, target, [receiver = undefinedVariable, ...args]) => {
      if (target.kind !== 'function' && target.kind !== 'closure' && target.kind !== 'bound') {
        return undefined;
      }
      const name = target.kind === 'function' ? null : readProperty(t, target, 'name');
      return { kind: 'bound', target, receiver, args, name, madeIn: t.builder };
    },
  ],
];
