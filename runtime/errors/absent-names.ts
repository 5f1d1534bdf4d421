/** Names that PyTorch users expect but this library lacks: the error says what to write instead. */

import { ArgumentError } from './errors.ts';

/** Methods that only throw. */
export const absentMethods = new WeakSet<object>();

function absent(what: string, given: string, remedy: string): never {
  const expected = 'what docs/operators.md or docs/nn.md lists';
  throw new ArgumentError({ what, given, expected, remedy });
}

/** Throws for a property that PyTorch has under this name: `remedy` says what to write. */
export function absentProperty(owner: string, name: string, remedy: string): never {
  return absent(`${owner} has no property ${name}`, `the property ${name}`, remedy);
}

/** Gives each name, also in PyTorch's case, a method that throws ArgumentError with its text as the hint. */
export function defineAbsent(
  prototype: object,
  owner: string,
  names: Readonly<Record<string, string>>,
): void {
  const layer = absentBehind(prototype);
  for (const [name, remedy] of Object.entries(names)) {
    define(layer, owner, name, remedy);
    if (capitals.test(name)) define(layer, owner, snakeCase(name), remedy);
  }
}

/**
 * Returns the parent of a prototype, which contains its absent names: adding a name to a prototype with hundreds of
 * methods would copy its whole property table.
 */
function absentBehind(prototype: object): object {
  const next: object | null = Object.getPrototypeOf(prototype);
  if (next !== null && behind.has(next)) return next;
  const made: object = Object.create(next);
  behind.add(made);
  Object.setPrototypeOf(prototype, made);
  return made;
}

const behind = new WeakSet<object>();

function define(prototype: object, owner: string, name: string, remedy: string): void {
  const value = (): never =>
    absent(`${owner} has no method ${name}`, `a call of ${name}()`, remedy);
  absentMethods.add(value);
  Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
}

/** Makes assigning to a property throw ArgumentError, and reading it too unless there is a `get`. */
export function defineUnassignable(
  prototype: object,
  name: string,
  remedy: string,
  get?: () => unknown,
): void {
  const set = (): never =>
    absent(
      `Tensor has no property ${name}${get ? ' to assign to' : ''}`,
      name === '0' ? 'x[0]' : `x.${name}`,
      remedy,
    );
  Object.defineProperty(prototype, name, { get: get ?? set, set, configurable: true });
}

/** Converts a name to PyTorch's case. */
export const snakeCase = (name: string): string =>
  name.replace(/[A-Z]+/g, (letters) => `_${letters.toLowerCase()}`);

/** Gives each camel-case method a snake-case variant whose error names it: `zero_grad` names `zeroGrad`. */
export function defineSnakeCase(prototype: object, owner: string): void {
  const layer = absentBehind(prototype);
  for (const name of Object.getOwnPropertyNames(prototype)) {
    if (!capitals.test(name)) continue;
    const snake = snakeCase(name);
    const { value } = Object.getOwnPropertyDescriptor(prototype, name)!;
    if (typeof value !== 'function' || snake in prototype) continue;
    define(layer, owner, snake, `names are camel case: ${name}()`);
  }
}

const capitals = /[A-Z]/;
