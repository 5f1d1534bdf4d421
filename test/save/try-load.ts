import { expect } from 'vitest';
import { DataError, load, memory, tidy } from '../../runtime/index.ts';
import { type LoadedProgram, programParts } from '../../runtime/save/loaded-program.ts';

/**
 * Loads, uses and frees: 'loaded', or the message of the DataError that a check of the file has thrown. An error
 * with a cause came from code that took the file for a sound one. What a changed program leaves for the garbage
 * collector in a run is its own affair.
 */
export async function tryLoad(
  bytes: Uint8Array,
  use?: (program: LoadedProgram) => void,
): Promise<string> {
  const before = memory.stats('cpu').allocated;
  // Less is left where the garbage collector has come by.
  const expectNothingLeft = () => expect(memory.stats('cpu').allocated).toBeLessThanOrEqual(before);
  let loaded: unknown;
  try {
    loaded = await load(bytes);
  } catch (error) {
    expect(error).toBeInstanceOf(DataError);
    expect((error as Error).cause).toBeUndefined();
    expectNothingLeft();
    return (error as Error).message;
  }
  if (programParts(loaded)) {
    if (use) tidy(() => use(loaded as LoadedProgram));
    (loaded as LoadedProgram).dispose();
    if (!use) expectNothingLeft();
  }
  return 'loaded';
}
