import { GraphBreak } from '../../../traces/graph-break.ts';
import type { Reg } from '../../../vm/bytecode/instructions.ts';
import { OwnSet } from '../../../vm/language/primordials.ts';
import { growableIn } from '../../control-flow/lists/growable-array.ts';
import { defineAccessor, type Key, newObject, setOwnProperty } from '../../heap/made-objects.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf, isNullish } from '../../state/value-guards.ts';
import { append } from '../../values/array-changes.ts';
import { type ArrayVariable, asArray } from '../../values/arrays.ts';
import { elementAt, indexIn, setGrowableAt } from '../../values/element-at.ts';
import { expand } from '../../values/iterators.ts';
import { appendGrowable } from '../../values/lists.ts';
import { failsToChange } from '../../values/objects/failed-writes.ts';
import { nameClosure } from '../../values/objects/name-closure.ts';
import { hasPrivate, readPrivate, writePrivate } from '../../values/objects/private-names.ts';
import { superPrototype } from '../../values/objects/super.ts';
import { readFor, readKey, readProperty } from '../../values/properties.ts';
import { copiedKeys } from '../../values/property-keys.ts';
import { isPrimitiveVariable, withPropertyKey } from '../../values/to-primitive.ts';
import { elementAtOffset, extendedArray } from '../../values/varying-array.ts';
import {
  assignPrototype,
  defineProperty,
  deleteProperty,
  writeProperty,
} from '../../values/write-property.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import { specialized } from '../../variables/unions.ts';
import { known, newArray, type Variable } from '../../variables/variable.ts';
import { get, type Handlers, set } from './handler.ts';

/** Object instructions. Objects created in the trace are changed immediately, pre-existing ones after the run. */
export const objectHandlers: Handlers<
  | 'getProp'
  | 'setProp'
  | 'getElem'
  | 'setElem'
  | 'deleteProp'
  | 'newArray'
  | 'arrayPush'
  | 'arraySpread'
  | 'newObject'
  | 'defineProp'
  | 'defineAccessor'
  | 'setPrototype'
  | 'objectSpread'
  | 'objectRest'
  | 'requireObject'
  | 'getPrivate'
  | 'setPrivate'
  | 'hasPrivate'
  | 'getSuper'
  | 'getSuperElem'
> = {
  getProp: (t, frame, { dst, object, key }) =>
    set(frame, dst, readProperty(t, get(frame, object), key)),
  getElem: (t, frame, { dst, object, key }) => {
    const base = get(frame, object);
    const index = specialized(get(frame, key));
    if (index.kind === 'scalar') return set(frame, dst, elementAt(t, specialized(base), index));
    const element = t.rows?.iteration?.element(base, index);
    if (element) return set(frame, dst, element);
    const fromEnd = index.kind === 'symbolic' && elementAtOffset(t, base, index);
    set(frame, dst, fromEnd || withPropertyKey(t, index, (name) => readKey(t, base, name)));
  },
  setProp: (t, frame, { object, key, src }) => {
    const base = get(frame, object);
    if (!failsToChange(t, base, key, 'write')) writeProperty(t, base, key, get(frame, src));
  },
  setElem: (t, frame, { object, key, src }) => {
    const index = specialized(get(frame, key));
    const base = specialized(get(frame, object));
    if (index.kind === 'scalar' && setGrowableAt(t, base, index, get(frame, src))) return;
    withPropertyKey(t, keyToWrite(t, frame, object, key), (name) => {
      if (!failsToChange(t, base, name, 'write')) writeProperty(t, base, name, get(frame, src));
    });
  },
  deleteProp: (t, frame, { dst, object, key }) => {
    const base = get(frame, object);
    const isDeleted = withPropertyKey(t, get(frame, key), (name) => {
      if (failsToChange(t, base, name, 'delete')) return false;
      deleteProperty(t, base, name);
      return true;
    });
    set(frame, dst, known(isDeleted));
  },

  getPrivate: (t, frame, { dst, object, name }) =>
    set(frame, dst, readPrivate(t, frame, get(frame, object), name)),
  setPrivate: (t, frame, { object, name, src }) =>
    writePrivate(t, frame, get(frame, object), name, get(frame, src)),
  hasPrivate: (t, frame, { dst, object, name }) =>
    set(frame, dst, hasPrivate(t, frame, get(frame, object), name)),

  newArray: (t, frame, { dst, elements }) => {
    const { pc } = frame;
    const { code } = frame.closure;
    const born = { code, pc, grows: t.control.plans.has('grows', code, pc) };
    const items = elements.map((reg) => get(frame, reg));
    set(frame, dst, { ...newArray(items), born });
  },
  arrayPush: (t, frame, { array, src }) => {
    append(t, arrayMade(t, get(frame, array)), [get(frame, src)]);
  },
  arraySpread: (t, frame, { array, iterable }) => {
    const target = arrayMade(t, get(frame, array));
    const items = specialized(get(frame, iterable));
    const growable = growableIn(t, items);
    if (growable && target.kind === 'newArray') appendGrowable(t, target, growable);
    else {
      const before = literalElements(target);
      const extended = before && extendedArray(t, items, before);
      if (extended) set(frame, array, extended);
      else append(t, target, expand(t, items));
    }
  },

  newObject: (t, frame, { dst }) => set(frame, dst, newObject(t)),
  defineProp: (t, frame, { object, key, src }) => {
    defineProperty(t, get(frame, object), propertyKey(t, get(frame, key)), get(frame, src));
  },
  defineAccessor: (t, frame, { object, key, accessor, src }) => {
    const [target, name] = [get(frame, object), propertyKey(t, get(frame, key))];
    const named = nameClosure(t, get(frame, src), name, accessor);
    if (target.kind !== 'newObject') {
      throw new GraphBreak('unsupported-value', 'a getter or setter is defined');
    }
    defineAccessor(t, target, name, { [accessor]: named });
  },
  setPrototype: (t, frame, { object, src }) => {
    assignPrototype(t, get(frame, object), get(frame, src));
  },
  objectSpread: (t, frame, { object, source }) => {
    const from = get(frame, source);
    if (isPrimitiveVariable(from) && isNullish(t, from)) return;
    t.attempt(() => {
      copiedKeys(t, from).forEach((key) => {
        defineProperty(t, get(frame, object), key, readKey(t, from, key));
      });
    });
  },
  objectRest: (t, frame, { dst, source, excluded }) => {
    const without = new OwnSet<Key>();
    for (const reg of excluded) without.add(propertyKey(t, get(frame, reg)));
    const rest = t.attempt(() => copyWithout(t, get(frame, source), without));
    set(frame, dst, rest);
  },
  requireObject: (t, frame, { src, what }) => {
    if (isNullish(t, get(frame, src))) throw new GraphBreak('throw', `${what} is destructured`);
  },
  getSuper: (t, frame, { dst, key }) =>
    set(frame, dst, readFor(t, superPrototype(t, frame), frame.thisVariable, key)),
  getSuperElem: (t, frame, { dst, key }) => {
    const name = propertyKey(t, get(frame, key));
    set(frame, dst, readFor(t, superPrototype(t, frame), frame.thisVariable, name));
  },
};

/** Returns the key of `object[key] = …`. A device scalar is an index of the array. */
function keyToWrite(t: Tracer, frame: TraceFrame, object: Reg, key: Reg): Variable {
  const index = specialized(get(frame, key));
  return index.kind === 'scalar' ? indexIn(t, specialized(get(frame, object)), index) : index;
}

/** Returns the property key of a variable that has already been converted to a key. */
export function propertyKey(t: Tracer, variable: Variable): Key {
  const key = constantOf(t, variable);
  return typeof key === 'symbol' ? key : String(key);
}

/** `const { a, ...rest } = source`: getters of omitted properties are not called. */
function copyWithout(t: Tracer, source: Variable, without: ReadonlySet<Key>): Variable {
  const rest = newObject(t);
  copiedKeys(t, source).forEach((key) => {
    if (!without.has(key)) setOwnProperty(t, rest, key, readKey(t, source, key));
  });
  return rest;
}

/** Returns the elements of a literal under construction; after a break within it, the array is pre-existing. */
function literalElements(array: ArrayVariable): readonly Variable[] | undefined {
  if (array.kind !== 'newArray' || !array.born || array.extended || array.growable)
    return undefined;
  return array.elements;
}

function arrayMade(t: Tracer, variable: Variable): ArrayVariable {
  const array = asArray(t, variable);
  if (!array) throw new GraphBreak('unsupported-value', 'an array is built on something else');
  return array;
}
