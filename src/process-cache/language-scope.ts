import type { Scope } from '../vm/bytecode/frame.ts';

const read = (name: string): unknown => Reflect.get(globalThis, name);

/** The scope of a function of this package that uses only globals of the language. */
export const languageScope: Scope = {
  has: (name) => name in globalThis,
  get: read,
  set() {
    throw new Error('a function of the package assigns no global');
  },
  reader: (name) => () => read(name),
  isConstant: () => false,
};
