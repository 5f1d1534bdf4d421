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
