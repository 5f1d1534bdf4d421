/** `capture: 'auto'` on functions as people write them: what eager execution does, in no more subgraphs. */

import { describe, expect, it } from 'vitest';
import { corpus } from './all.ts';
import { differential } from './differential.ts';

/** Those that read values, on which they may decide. */
const deciding = corpus.filter(({ expected: { breaks = [] } }) => breaks.includes('data-read'));

/** Whose decisions merge: fewer subgraphs run than with a break at each. */
const fewer: string[] = [];

describe.each(deciding)('corpus/$name', ({ name, make, calls = 4, expected }) => {
  it('takes no more subgraphs where decisions may be part of them', () => {
    const { stats } = differential(make, { calls, capture: 'auto' });
    const broken = differential(make, { calls }).stats;
    expect(stats.fallbacks).toEqual([]);
    expect(stats.graphs).toBeLessThanOrEqual(expected.graphsInAuto ?? expected.graphs);
    expect(stats.graphRuns).toBeLessThanOrEqual(broken.graphRuns);
    if (stats.graphRuns < broken.graphRuns) fewer.push(name);
  });
});

it('some decisions of the corpus merge', () => {
  expect(deciding.length).toBeGreaterThan(5);
  expect(fewer.length).toBeGreaterThan(0);
});
