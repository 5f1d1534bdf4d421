/** Names that PyTorch users expect but this library lacks: the error tells what to write instead. */

import { ArgumentError } from './errors.ts';

/** Methods that only throw. */
export const absentMethods = new WeakSet<object>();

function absent(what: string, given: string, remedy: string): never {
  const expected = 'what docs/operators.md or docs/nn.md lists';
  throw new ArgumentError({ what, given, expected, remedy });
}

/** Gives each name a method that throws ArgumentError with its text as the hint. */
export function defineAbsent(
  prototype: object,
  owner: string,
  names: Readonly<Record<string, string>>,
): void {
  for (const [name, remedy] of Object.entries(names)) {
    const value = (): never =>
      absent(`${owner} has no method ${name}`, `a call of ${name}()`, remedy);
    absentMethods.add(value);
    Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
  }
}

/** Makes assigning to a property throw ArgumentError, and reading it too unless there is a `get`. */
export function defineUnassignable(
  prototype: object,
  name: string,
  remedy: string,
  get?: () => unknown,
): void {
  const set = (): never =>
    absent(`Tensor has no property ${name}${get ? ' to assign to' : ''}`, `x[${name}]`, remedy);
  Object.defineProperty(prototype, name, { get: get ?? set, set, configurable: true });
}

/** Gives each camel-case method a snake-case variant whose error names it: `zero_grad` names `zeroGrad`. */
export function defineSnakeCase(prototype: object, owner: string): void {
  const names: Record<string, string> = {};
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    const snake = name.replace(/[A-Z]+/g, (letters) => `_${letters.toLowerCase()}`);
    if (typeof value !== 'function' || absentMethods.has(value) || snake in prototype) continue;
    names[snake] = `names are camel case: ${name}()`;
  }
  defineAbsent(prototype, owner, names);
}
