import { Tensor } from '../tensor/tensor.ts';

export type AnyMethod = (this: Tensor, ...args: never[]) => unknown;

/** Installs a function of a tensor on the prototype as a method. */
export function define(name: string, fn: (first: Tensor, ...rest: never[]) => unknown): AnyMethod {
  const call = fn as (first: Tensor, ...rest: unknown[]) => unknown;
  // Doesn't allocate an arguments array for most calls; a missing argument is equivalent to undefined.
  const method = function (this: Tensor, a?: unknown, b?: unknown) {
    // biome-ignore lint/complexity/noArguments: a rest parameter would make an array in every call
    switch (arguments.length) {
      case 0:
        return call(this);
      case 1:
        return call(this, a);
      case 2:
        return call(this, a, b);
      default:
        // biome-ignore lint/complexity/noArguments: as above
        return call(this, ...arguments);
    }
  };
  Object.defineProperty(method, 'name', { value: name });
  Object.defineProperty(Tensor.prototype, name, {
    value: method,
    writable: true,
    configurable: true,
  });
  return method;
}

export function defineAll(
  functions: Readonly<Record<string, Parameters<typeof define>[1]>>,
): AnyMethod[] {
  return Object.entries(functions).map(([name, fn]) => define(name, fn));
}
