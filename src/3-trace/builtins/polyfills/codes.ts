import type { Code } from '../../../vm/bytecode/code.ts';

const codes = new WeakSet<Code>();

export function notePolyfill(code: Code): void {
  codes.add(code);
}

/** Returns whether code represents a native function, so that its positions are not user positions. */
export function isPolyfill(code: Code): boolean {
  return codes.has(code);
}
