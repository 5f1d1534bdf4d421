import { describe, expect, it } from 'vitest';
import type { CorpusFunction } from './corpus.ts';
import { differential } from './differential.ts';
import { sequences } from './functions/sequences.ts';
import { training } from './functions/training.ts';

const corpus: readonly CorpusFunction[] = [...training, ...sequences];

describe.each(corpus)('corpus/$name', ({ make, calls = 4, expected }) => {
  it('runs as eager execution does, in the expected parts', () => {
    const { stats, leaked } = differential(make, { calls });
    const reasons = [...new Set(stats.breaks.map(({ reason }) => reason))].sort();
    const { graphs, breaks = [], unexpected = [], fallbacks = 0, nativeTensors } = expected;
    if (process.env.CORPUS_SHOW) {
      const detail = stats.breaks.map((b) => `${b.reason}: ${b.detail} @${b.at?.line}`);
      console.info({
        t: stats.translations,
        graphs: stats.graphs,
        detail: [...new Set(detail)],
        fallbacks: stats.fallbacks,
        leaked,
      });
    }
    expect({ graphs: stats.graphs, reasons, fallbacks: stats.fallbacks.length }).toEqual({
      graphs,
      reasons: [...new Set([...breaks, ...unexpected])].sort(),
      fallbacks,
    });
    if (!nativeTensors) expect(leaked, 'bytes that were not given back').toBe(0);
  });
});
