import type { Code } from '../../../vm/bytecode/code.ts';

const codes = new WeakSet<Code>();

export function notePolyfill(code: Code): void {
  codes.add(code);
}

/** Code that represents a native function's: no position in it is the user's. */
export function isPolyfill(code: Code): boolean {
  return codes.has(code);
}
