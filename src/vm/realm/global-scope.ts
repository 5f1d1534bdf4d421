import type { Scope } from '../bytecode/frame.ts';
import { create } from '../language/primordials.ts';

/** A global name, as the engine reads and writes it. */
export interface GlobalName {
  readonly get: () => unknown;
  readonly typeOf: () => string;
  readonly set: (value: unknown) => void;
  readonly setStrict: (value: unknown) => void;
}

// biome-ignore lint/security/noGlobalEval: evaluates in the global scope, where `arguments` is an ordinary name
const evaluate = eval;

const compile = (text: string): (() => never) => evaluate(text) as () => never;

const texts: Readonly<Record<keyof GlobalName, (name: string) => (value?: unknown) => never>> = {
  get: (name) => compile(`() => ${name}`),
  typeOf: (name) => compile(`() => typeof ${name}`),
  set: (name) => compile(`($$value) => { ${name} = $$value; }`),
  setStrict: (name) => compile(`($$value) => { "use strict"; ${name} = $$value; }`),
};

/**
 * The global names of the realm that this file is loaded in, accessed natively: properties of the global object, and
 * names that scripts declare with `let`, `const` and `class`. `declared`: accessors provided by scripts themselves.
 */
export function globalScope(declared: Readonly<Record<string, GlobalName>>): Scope {
  const known: { readonly [A in keyof GlobalName]: Record<string, GlobalName[A]> } = {
    get: create(null),
    typeOf: create(null),
    set: create(null),
    setStrict: create(null),
  };
  const access = <A extends keyof GlobalName>(kind: A, name: string): GlobalName[A] => {
    const names: Record<string, GlobalName[A]> = known[kind];
    const found = names[name] ?? declared[name]?.[kind] ?? texts[kind](name);
    names[name] = found;
    return found;
  };
  const writer = (name: string, strict: boolean): ((value: unknown) => void) =>
    access(strict ? 'setStrict' : 'set', name);
  return {
    has: (name) => access('typeOf', name)() !== 'undefined',
    get: (name) => access('get', name)(),
    set: (name, value, strict = false) => writer(name, strict)(value),
    reader: (name) => access('get', name),
    writer,
    isConstant: () => false,
    typeOf: (name) => access('typeOf', name)(),
    delete: (name) => compile(`() => delete ${name}`)(),
  };
}
