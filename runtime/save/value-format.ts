import { defineData } from '../entry/make.ts';
import { ArgumentError } from '../errors/errors.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { Field } from './file/field.ts';
import { encodePrimitive, isPrimitiveValue, type Primitive, readPrimitive } from './primitive.ts';
import type { TensorReader, TensorWriter } from './tensors.ts';

/** Values that `save` accepts besides programs: tensors and plain data, in arrays, objects, Maps and Sets. */
export type Savable =
  | Tensor
  | Primitive
  | readonly Savable[]
  | { readonly [key: string]: Savable }
  | ReadonlyMap<Savable, Savable>
  | ReadonlySet<Savable>;

/** A depth that real data never exceeds; cyclic data does. */
const maxDepth = 200;

export function encodeValue(value: unknown, tensors: TensorWriter, path = 'the value'): unknown {
  if (path.length > 100 * maxDepth || depthOf(path) > maxDepth) {
    throw notSavable(path, 'cyclic data, or data nested too deeply');
  }
  const encode = (item: unknown, key: string | number) =>
    encodeValue(item, tensors, `${path}/${key}`);
  if (value instanceof Tensor) return { tensor: tensors.add(value) };
  if (isPrimitiveValue(value)) return encodePrimitive(value);
  if (Array.isArray(value)) return { list: Array.from(value, encode) };
  if (value instanceof Map) {
    return { map: [...value].map(([key, item], i) => [encode(key, i), encode(item, i)]) };
  }
  if (value instanceof Set) return { set: [...value].map(encode) };
  const prototype: unknown = typeof value === 'object' && Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) {
    const entries = Object.entries(value as object);
    return { object: entries.map(([key, item]) => [key, encode(item, key)]) };
  }
  throw notSavable(path, typeof value === 'function' ? 'a function' : 'an object of a class');
}

const depthOf = (path: string) => path.split('/').length;

function notSavable(path: string, given: string): ArgumentError {
  return new ArgumentError({
    what: `save: ${path.length > 200 ? `${path.slice(0, 200)}…` : path} can't be saved`,
    given,
    expected: 'tensors, numbers, texts and other plain values in arrays, objects, Maps and Sets',
    remedy:
      'save stateDict() of modules and optimizers; functions are saved when they are captured',
  });
}

export function readValue(field: Field, tensors: TensorReader): unknown {
  const read = (item: Field) => readValue(item, tensors);
  const pairs = (list: Field) => list.items().map((pair) => pair.tuple(2));
  if (field.has('tensor')) return tensors.read(field.get('tensor'));
  if (field.has('list')) return field.list('list', read);
  if (field.has('set')) return new Set(field.list('set', read));
  if (field.has('map')) {
    return new Map(pairs(field.get('map')).map(([key, item]) => [read(key), read(item)]));
  }
  if (!field.has('object')) return readPrimitive(field);
  const object = {};
  for (const [key, item] of pairs(field.get('object')))
    defineData(object, key.string(), read(item));
  return object;
}
