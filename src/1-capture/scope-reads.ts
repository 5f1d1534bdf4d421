import type { Scope } from '../bytecode/frame.ts';
import type { FunctionFacts } from './binding.ts';

interface ScopeReads extends Pick<Scope, 'has' | 'get' | 'reader'> {
  /** False before the initialisation of the variable, and where there is none of the name. */
  isReadable(name: string): boolean;
}

/** What every live scope answers the same way, however it gets at the variables. */
export function scopeReads(reader: Scope['reader'], { free }: FunctionFacts): ScopeReads {
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
