import type { Scope } from '../../vm/bytecode/frame.ts';
import { guardUninitialized, isOwnFunction, placesOf, scopeReads } from '../live/scope-reads.ts';
import { isNeverReassigned } from '../script/binding.ts';
import { frozenGlobals } from '../script/standard-globals.ts';
import type { ScopeTable } from './probe.ts';
import type { Marked } from './read-marker.ts';

/**
 * Returns the outer variables of an instrumented function, through getters and setters in its scope. Names without
 * a getter are globals. Setters exist only for variables that the function itself assigns.
 */
export function markedScope(
  table: ScopeTable,
  { free, source }: Pick<Marked, 'free' | 'source'>,
): Scope {
  const globals = globalThis as unknown as Record<string, unknown>;
  const readers = new Map<string, () => unknown>();

  const reader = (name: string): (() => unknown) => {
    let read = readers.get(name);
    if (read === undefined) {
      const getter = Object.getOwnPropertyDescriptor(table, name)?.get as
        | (() => unknown)
        | undefined;
      read = getter
        ? guardUninitialized(name, getter, free.get(name))
        : () => readGlobal(globals, name);
      readers.set(name, read);
    }
    return read;
  };

  const { isReadable, ...reads } = scopeReads(reader, { free });
  const scope: Scope = {
    ...reads,
    set(name, value) {
      const write = Object.getOwnPropertyDescriptor(table, name)?.set;
      if (write) write(value);
      else if (free.get(name)) throw new TypeError('Assignment to constant variable.');
      else if (name in globals) globals[name] = value;
      else throw new ReferenceError(`${name} is not defined`);
    },
    isConstant(name) {
      const binding = free.get(name);
      if (binding === undefined) return frozenGlobals.has(name);
      if (isOwnFunction(binding, source, reader)) return true;
      if (!isNeverReassigned(binding)) return false;
      // An uninitialized variable will still change. Bundlers turn `const` into `var`.
      return isReadable(name) && reader(name)() !== undefined;
    },
  };
  return { ...scope, place: placesOf(scope, { free }, () => false) };
}

function readGlobal(globals: Record<string, unknown>, name: string): unknown {
  if (name in globals) return globals[name];
  throw new ReferenceError(`${name} is not defined`);
}
