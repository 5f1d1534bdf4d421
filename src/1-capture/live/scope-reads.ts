import type { SourceText } from '../../vm/bytecode/code.ts';
import type { Scope, VariablePlace } from '../../vm/bytecode/frame.ts';
import type { OuterBinding, OuterNames } from '../script/binding.ts';
import { knownVariable, writtenVariable } from '../script/outer-variables.ts';
import { isOwnModule } from './own-modules.ts';

interface ScopeReads extends Pick<Scope, 'has' | 'get' | 'reader'> {
  /** Returns false if the variable is uninitialized or doesn't exist. */
  isReadable(name: string): boolean;
}

/** The part of a live scope that doesn't depend on how variables are accessed. */
export function scopeReads(reader: Scope['reader'], { free }: OuterNames): ScopeReads {
  const isReadable = (name: string): boolean => {
    try {
      reader(name)();
      return true;
    } catch {
      return false;
    }
  };
  return {
    isReadable,
    has: (name) => free.get(name) !== undefined || isReadable(name),
    get: (name) => reader(name)(),
    reader,
  };
}

/** Inside the debugger, an uninitialized variable looks like a missing one, unlike in the user's code. */
export function guardUninitialized(
  name: string,
  read: () => unknown,
  binding: OuterBinding | undefined,
): () => unknown {
  if (binding === undefined || ['var', 'parameter', 'function'].includes(binding.kind)) return read;
  let initialized = false;
  return () => {
    if (initialized) return read();
    try {
      const value = read();
      initialized = true;
      return value;
    } catch {
      throw new ReferenceError(`Cannot access '${name}' before initialization`);
    }
  };
}

/** Returns whether the binding imports a function of this package. (Other modules may assign what they export.) */
export const isOwnFunction = (
  binding: OuterBinding,
  source: SourceText,
  reader: Scope['reader'],
): boolean => isOwnImport(binding, source) && typeof reader(binding.name)() === 'function';

export const isOwnImport = ({ kind, from }: OuterBinding, source: SourceText): boolean =>
  kind === 'import' && from !== undefined && isOwnModule(from, source.file);

/** `Scope.place` of live scopes. `isExposed`: the variable is also a property of the global object. */
export function placesOf<B extends OuterBinding>(
  { reader, set }: Pick<Scope, 'reader' | 'set'>,
  { free }: OuterNames<B>,
  isExposed: (binding: B) => boolean,
): NonNullable<Scope['place']> {
  // Places live as long as a scope that refers to them.
  const places = new Map<string, VariablePlace>();
  return (name, write) => {
    const binding = free.get(name);
    let place = places.get(name);
    if (place || binding === undefined || isExposed(binding)) return place;
    place = write
      ? writtenVariable(binding, reader(name), (value) => set(name, value))
      : knownVariable(reader(name));
    if (place) places.set(name, place);
    return place;
  };
}
