import { Tensor } from '../../runtime/tensor/tensor.ts';
import { collectionType } from '../guards/collection-slots.ts';
import { isModuleNamespace, isProxy } from '../guards/plain.ts';
import { closureOf } from '../vm/frames/function-of.ts';
import type { KnownObjects } from './known-objects.ts';

/** Built-in types whose instances have internal state that no property shows. */
const stateful = [Date, RegExp, Promise, WeakRef, ArrayBuffer, Error, Number, String, Boolean];

/**
 * Describes the immutable traits of an object as text: a trace relies on them without a guard where the object can't be
 * replaced. Undefined for a Proxy.
 */
export function brandOf(object: object, known: KnownObjects): string | undefined {
  if (isProxy(object)) return undefined;
  if (typeof object === 'function') return closureOf(object) ? 'made function' : 'function';
  const prototype = Object.getPrototypeOf(object) as object | null;
  const above =
    prototype === null ? 'nothing' : (known.nameOfPrototype(prototype) ?? 'of the user');
  return `${typeOf(object)} ${above} ${Object.isFrozen(object)}`;
}

function typeOf(object: object): string {
  const collection = collectionType(object);
  if (collection) return collection;
  if (Array.isArray(object)) return 'Array';
  if (ArrayBuffer.isView(object)) return 'view';
  if (isModuleNamespace(object)) return 'namespace';
  if (object instanceof Tensor) return 'Tensor';
  return stateful.find((type) => object instanceof type)?.name ?? 'object';
}
