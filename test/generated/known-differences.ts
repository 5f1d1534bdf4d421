import type { MemoryChoice } from '../../src/index.ts';

/** Differences by design, each of which the documentation names. */
export function isKnownDifference(
  error: unknown,
  body: string,
  memory: MemoryChoice = 'planned',
): boolean {
  const text = String(error);
  // Handles that nobody uses any more stand in the way eagerly, until they are collected.
  if (text.includes('memory that several tensors show')) return true;
  // Backward computes again what eagerly is kept, or keeps what eagerly is computed again: so the writes in place
  // that it refuses are others, and a parameter frozen after forward stays what it was.
  const recomputes =
    body.includes('checkpoint(') || (typeof memory === 'object' && 'budget' in memory);
  return recomputes && text.includes('"roots": "AutogradError"');
}
