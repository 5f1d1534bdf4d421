/** `for (const key in object)`, inherited names included. */

import { isProxy } from '../../../guards/plain.ts';
import type { Source } from '../../../guards/source.ts';
import { sourceKey } from '../../../guards/source-key.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf, isNullish } from '../../state/value-guards.ts';
import type { IteratorRecordVariable } from '../../variables/iterator-variables.ts';
import { kindName } from '../../variables/kind-names.ts';
import { specialized } from '../../variables/unions.ts';
import {
  known,
  type NewObjectVariable,
  newArray,
  type ObjectVariable,
  prototypeOf,
  type Variable,
} from '../../variables/variable.ts';
import { iteratorOver, record } from '../iterators.ts';
import { hasProperty, plainKeys } from '../property-keys.ts';

export function openKeyIteration(t: Tracer, variable: Variable): IteratorRecordVariable {
  const object = specialized(variable);
  if (object.kind === 'constant') return over(t, isNullish(t, object) ? [] : plainKeys(t, object));
  if (object.kind !== 'object' && object.kind !== 'newObject') throw visited(kindName(object));
  if (object.kind === 'object' && isProxy(object.value)) throw visited('a Proxy');
  const names = plainKeys(t, object);
  const inherited = new Set<string>();
  const below: EnumeratedObject[] = [object];
  for (let above = aboveOf(object); above; above = aboveOf(above)) {
    for (const name of namesOf(t, above)) {
      inherited.add(name);
      // A property hides inherited properties of the same name, even if it is not enumerable itself.
      if (!below.some((each) => constantOf(t, hasProperty(t, each, name, true)))) names.push(name);
    }
    below.push(above);
  }
  return { ...over(t, names), namesOf: object, inherited };
}

type EnumeratedObject = ObjectVariable | NewObjectVariable;

const over = (t: Tracer, names: readonly string[]): IteratorRecordVariable => {
  const list = newArray(names.map((name) => known(name)));
  return record(iteratorOver(t, list, 'values'), null, true);
};

const visited = (what: string) =>
  new GraphBreak('unsupported-iterable', `for-in visits the names of ${what}`);

/** Also guards that a prototype without enumerable names doesn't get any. */
function namesOf(t: Tracer, object: EnumeratedObject): readonly string[] {
  if (object.kind === 'newObject') return plainKeys(t, object);
  const { source, value } = object;
  if (isProxy(value)) throw visited('a Proxy');
  if (Object.keys(value).length > 0 || t.effects.isWritten(value)) return plainKeys(t, object);
  t.guard(`keys ${sourceKey(source)}`, { kind: 'keys', source, keys: [] });
  return [];
}

const root: Source = { kind: 'held', value: Object.prototype, name: 'Object.prototype' };

function aboveOf(object: EnumeratedObject): EnumeratedObject | null {
  if (object.kind === 'newObject') {
    const above = prototypeOf(object);
    if (above === undefined) return { kind: 'object', value: Object.prototype, source: root };
    if (above === null || above.kind === 'newObject' || above.kind === 'object') return above;
    throw visited(`an object whose prototype is ${kindName(above)}`);
  }
  const value: unknown = Object.getPrototypeOf(object.value);
  if (value === null) return null;
  if (typeof value === 'function') throw visited('an object whose prototype is a function');
  const isRoot = value === Object.prototype;
  const source: Source = isRoot ? root : { kind: 'prototypeOf', base: object.source };
  return { kind: 'object', value: value as object, source };
}
