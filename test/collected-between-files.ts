/**
 * In processes that files share: memory of tensors that one file forgot is released when the next file starts, not
 * whenever the garbage collector finds them, which may be in the middle of a test that counts bytes.
 */

const known = Symbol.for('tostatic.tests.collected');
const shared = globalThis as { [known]?: (() => void)[] };

async function delayReleases(): Promise<(() => void)[]> {
  const collected: (() => void)[] = [];
  const { FinalizationRegistry: native } = globalThis;
  class Delayed<T> extends native<T> {
    constructor(release: (held: T) => void) {
      super((held) => collected.push(() => release(held)));
    }
  }
  // For the one module that gives tensors' memory back: programs under test see the engine's own.
  globalThis.FinalizationRegistry = Delayed;
  await import('../runtime/tensor/tensor.ts');
  globalThis.FinalizationRegistry = native;
  return collected;
}

shared[known] ??= await delayReleases();
for (const release of shared[known].splice(0)) release();
