import { describe, expect, it } from 'vitest';
import { corpus } from './all.ts';
import { differential } from './differential.ts';

describe.each(corpus)('corpus/$name', ({ make, calls = 4, expected }) => {
  it('runs as eager execution does, in the expected parts', () => {
    const { stats, leaked } = differential(make, { calls });
    const reasons = [...new Set(stats.breaks.map(({ reason }) => reason))].sort();
    const { graphs, breaks = [], unexpected = [], garbage } = expected;
    expect({ graphs: stats.graphs, reasons, fallbacks: stats.fallbacks }).toEqual({
      graphs,
      reasons: [...breaks, ...unexpected].sort(),
      fallbacks: [],
    });
    if (!garbage) expect(leaked, 'bytes that were not given back').toBe(0);
  });
});

describe('corpus', () => {
  it('has at least 40 functions, nine in ten without a break that a tracer could avoid', () => {
    const free = corpus.filter(({ expected: { unexpected = [] } }) => unexpected.length === 0);
    expect(corpus.length).toBeGreaterThanOrEqual(40);
    expect(new Set(corpus.map(({ name }) => name)).size).toBe(corpus.length);
    expect(free.length / corpus.length).toBeGreaterThanOrEqual(0.9);
  });
});
