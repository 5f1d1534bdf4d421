import { noGrad } from '../../autograd/grad-mode.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { clone } from '../../ops/movement/movement.ts';
import { keep } from '../../tensor/lifetime.ts';
import { Tensor } from '../../tensor/tensor.ts';
import { isModule } from './is-module.ts';
import type { Module } from './module.ts';
import { sameRole } from './parameter.ts';

/**
 * Returns a deep copy of a module: tensors, arrays, Maps and plain objects are copied, and whatever the module shares
 * internally the copy shares, too. Functions and other objects are not copied. Throws ArgumentError for a module with
 * hooks or parametrizations, which are tied to their module.
 */
export function copiedModule<M extends Module>(module: M): M {
  const known = new Map<unknown, unknown>();
  const filledCopy = <T extends object>(from: object, copy: T, fill: (copy: T) => void): T => {
    known.set(from, copy);
    fill(copy);
    return copy;
  };
  const fields = (from: object) => (copy: object) => {
    for (const [key, value] of Object.entries(from)) Object.assign(copy, { [key]: copyOf(value) });
  };
  const copyOf = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    const before = known.get(value);
    if (before !== undefined) return before;
    if (value instanceof Tensor) return filledCopy(value, tensorLike(value), () => {});
    if (Array.isArray(value)) {
      return filledCopy(value, [] as unknown[], (copy) => void copy.push(...value.map(copyOf)));
    }
    if (value instanceof Map) {
      return filledCopy(value, new Map<unknown, unknown>(), (copy) => {
        for (const [key, item] of value) copy.set(key, copyOf(item));
      });
    }
    if (isModule(value)) expectNoHooks(value);
    const prototype: object | null = Object.getPrototypeOf(value);
    const isPlain = prototype === Object.prototype || prototype === null;
    if (!isPlain && !isModule(value)) return value;
    return filledCopy(value, Object.create(prototype) as object, fields(value));
  };
  return copyOf(module) as M;
}

function tensorLike(tensor: Tensor): Tensor {
  const copy = noGrad(() => clone(tensor));
  return sameRole(tensor, keep(copy)).requiresGrad_(tensor.requiresGrad && tensor.isLeaf);
}

/** Hooks and computed parameters are non-enumerable properties that refer to their module. */
function expectNoHooks(module: Module): void {
  if (Object.getOwnPropertyNames(module).length === Object.keys(module).length) return;
  throw new ArgumentError({
    what: 'a module with hooks or parametrizations cannot be copied',
    given: module.constructor.name,
    expected: 'modules whose forward and parameters are their own',
    remedy:
      'remove the hooks first, or removeWeightNorm(layer), removeParametrizations(layer, name)',
  });
}
