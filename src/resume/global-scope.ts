import type { Scope } from '../bytecode/frame.ts';
import { apply, create } from './primordials.ts';

interface Accessors {
  readonly get: () => unknown;
  readonly typeOf: () => string;
}

const FunctionConstructor = Function;

const compile = (text: string): (() => never) => new FunctionConstructor(text) as () => never;

const assignable = (text: string): ((value: unknown) => void) =>
  new FunctionConstructor('$$value', text) as (value: unknown) => void;

/**
 * The global names of the realm that this file is loaded in, with the engine's own accesses: properties of
 * the global object, and what scripts declare with `let`, `const` and `class`.
 */
export function globalScope(): Scope {
  const readers: Record<string, Accessors> = create(null);
  const writers: Record<string, (value: unknown) => void> = create(null);
  const strictWriters: Record<string, (value: unknown) => void> = create(null);
  const accessors = (name: string): Accessors => {
    readers[name] ??= {
      get: compile(`return ${name}`),
      typeOf: compile(`return typeof ${name}`),
    };
    return readers[name];
  };
  return {
    has: (name) => accessors(name).typeOf() !== 'undefined',
    get: (name) => accessors(name).get(),
    set(name, value, strict = false) {
      const known = strict ? strictWriters : writers;
      known[name] ??= assignable(`${strict ? '"use strict"; ' : ''}${name} = $$value`);
      apply(known[name], undefined, [value]);
    },
    reader: (name) => accessors(name).get,
    isConstant: () => false,
    typeOf: (name) => accessors(name).typeOf(),
    delete: (name) => compile(`return delete ${name}`)(),
  };
}
