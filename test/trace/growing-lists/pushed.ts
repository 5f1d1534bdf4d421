import type { Tensor } from '../../../src/index.ts';
import { values, type World } from '../same-as-eager.ts';

/** What each call adds: one row. */
export const row = (call: number) => values([1, 3], call);

/** One array that the function pushes to. */
export function pushed(body: (cache: Tensor[], x: Tensor) => unknown): () => World {
  return () => {
    const cache: Tensor[] = [];
    return { fn: (x: Tensor) => body(cache, x), args: (call) => [row(call)], state: () => cache };
  };
}

/** One array that each call gets from the one before. */
