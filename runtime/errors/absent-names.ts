/** Names that users of PyTorch reach for and this library hasn't: the error says what to write instead. */

import { ArgumentError } from './errors.ts';

/** The methods that only throw. */
export const absentMethods = new WeakSet<object>();

/** Gives each name a method that throws ArgumentError with its text as the remedy. */
export function defineAbsent(
  prototype: object,
  owner: string,
  names: Readonly<Record<string, string>>,
): void {
  for (const [name, remedy] of Object.entries(names)) {
    const value = (): never => {
      throw new ArgumentError({
        what: `${owner} has no method ${name}`,
        given: `a call of ${name}()`,
        expected: 'a method that docs/operators.md or docs/nn.md lists',
        remedy,
      });
    };
    absentMethods.add(value);
    Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
  }
}

/** Reading or writing a property throws ArgumentError; `get`: of one that can be read. */
export function defineUnassignable(
  prototype: object,
  name: string,
  remedy: string,
  get?: () => unknown,
): void {
  const fail = (): never => {
    throw new ArgumentError({
      what: get ? `Tensor: ${name} can't be assigned to` : `Tensor has no property ${name}`,
      given: get ? `an assignment to ${name}` : `a use of x[${JSON.stringify(name)}]`,
      expected: 'a property that docs/operators.md or docs/nn.md lists',
      remedy,
    });
  };
  Object.defineProperty(prototype, name, { get: get ?? fail, set: fail, configurable: true });
}

/** Gives each method in camel case a form in PyTorch's case that says so: `zero_grad` names `zeroGrad`. */
export function defineSnakeCase(prototype: object, owner: string): void {
  const names: Record<string, string> = {};
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    const snake = name.replace(/[A-Z]+/g, (letters) => `_${letters.toLowerCase()}`);
    if (typeof value !== 'function' || absentMethods.has(value) || snake in prototype) continue;
    names[snake] = `names are camel case: ${name}()`;
  }
  defineAbsent(prototype, owner, names);
}
