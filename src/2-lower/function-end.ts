import type { Lowering } from './lowering.ts';

/** Emits the return at the end of a body. */
export function endOfBody(l: Lowering, offset: number): void {
  const end = { start: offset, end: offset };
  l.targets.leaveFunction(l.code.constant(undefined, end), end);
}
