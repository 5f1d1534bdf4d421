import { expect } from 'vitest';
import { DataError, memory } from '../../runtime/index.ts';
import { openWeights } from '../../runtime/weights/index.ts';

/**
 * Opens and reads everything: 'read', or the DataError's message. Of `fileBytes` bytes no more memory is taken than they
 * can represent, and none stays taken.
 */
export async function tryRead(
  source: Uint8Array | string,
  fileBytes: number = source.length,
): Promise<string> {
  const before = memory.stats('cpu').allocated;
  memory.reset('cpu');
  try {
    await using weights = await openWeights(source);
    const state = await weights.state();
    const taken = memory.stats('cpu').peakAllocated - before;
    for (const each of Object.values(state)) each.dispose();
    // Deflate makes 1032 bytes of one at most, and small integers are widened; blocks are rounded up.
    expect(taken).toBeLessThan(8 * 1032 * fileBytes + 4096);
    return 'read';
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    return error.message;
  } finally {
    expect(memory.stats('cpu').allocated).toBeLessThanOrEqual(before);
  }
}
