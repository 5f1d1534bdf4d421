import { expect } from 'vitest';
import { differential } from '../../corpus/differential.ts';
import type { World } from '../same-as-eager.ts';

interface Parts {
  /** Graphs after three calls; 1 when left out. */
  readonly graphs?: number;
  /** Why graphs end; nothing when left out. */
  readonly breaks?: readonly string[];
  /** The function drops tensors that only the collector gives back. */
  readonly garbage?: true;
}

/** Runs as eager execution does, on the first call and later, in these parts; all bytes come back. */
export function expectInParts(
  make: () => World,
  { graphs = 1, breaks = [], garbage }: Parts = {},
): void {
  const { stats, leaked } = differential(make, { calls: 3 });
  const reasons = stats.breaks.map(({ detail }) => detail);
  expect({ reasons, graphs: stats.graphs, fallbacks: stats.fallbacks }).toEqual({
    reasons: breaks,
    graphs,
    fallbacks: [],
  });
  if (!garbage) expect(leaked, 'bytes that were not given back').toBe(0);
}
