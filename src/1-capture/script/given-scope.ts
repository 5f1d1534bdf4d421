import type { Scope } from '../../vm/bytecode/frame.ts';
import { frozenGlobals } from './standard-globals.ts';

/** Returns a scope whose outer variables are the properties of an object (read live), followed by globals. */
export function givenScope(values: Readonly<Record<string, unknown>>): Scope {
  const globals = globalThis as unknown as Record<string, unknown>;
  const holder = (name: string): Record<string, unknown> | undefined => {
    if (Object.hasOwn(values, name)) return values;
    return name in globals ? globals : undefined;
  };
  const get = (name: string): unknown => {
    const found = holder(name);
    if (found === undefined) throw new ReferenceError(`${name} is not defined`);
    return found[name];
  };
  return {
    has: (name) => holder(name) !== undefined,
    get,
    set(name, value) {
      const found = holder(name);
      if (found === undefined) throw new ReferenceError(`${name} is not defined`);
      found[name] = value;
    },
    reader: (name) => () => get(name),
    place(name) {
      const descriptor = Object.getOwnPropertyDescriptor(values, name);
      return descriptor?.writable ? { object: values, key: name } : undefined;
    },
    isConstant: (name) => !Object.hasOwn(values, name) && frozenGlobals.has(name),
  };
}
