import { expect } from 'vitest';
import { expectSameAsEager, type World } from '../same-as-eager.ts';

const modes = [{}, { capture: 'auto' }, { fullGraph: true }] as const;

/** Compares with eager execution in each mode, where the function is one graph without breaks. */
export function expectOneGraph(make: () => World, calls = 3): void {
  for (const mode of modes) {
    const { reasons, graphs } = expectSameAsEager(make, { calls, check: 2, ...mode });
    expect(reasons).toEqual([]);
    expect(graphs).toBeGreaterThan(0);
  }
}
