/** Functions with data-dependent sizes where the graph may break: results, gradients, graph breaks. */

import { describe, expect, it } from 'vitest';
import { seed, type ToStaticOptions, toStatic } from '../../../src/index.ts';
import { expectSame } from '../../expect-same.ts';
import { outcome, release, tensorsIn } from '../outcome.ts';
import { type Case, functions } from './functions.ts';

/** Runs the function eagerly and captured, with checks, and returns what the captured function tells of itself. */
function stats({ fn, args }: Case, options: ToStaticOptions) {
  const captured = toStatic(fn, { ...options, check: 1 });
  for (let run = 0; run < 4; run++) {
    const [eager, own] = [fn, captured].map((each) => {
      seed(run);
      const given = args(run);
      const found = outcome(each, given);
      release([...tensorsIn(given)]);
      return found;
    });
    expect(eager!.thrown).toBeUndefined();
    expectSame(own, eager);
  }
  const { breaks, fallbacks, translations } = captured.stats();
  return { breaks: breaks.map(({ reason }) => reason), fallbacks, translations };
}

describe.each(Object.entries(functions))('full-graph/data-dependent/%s', (_, each) => {
  // Full graphs are traced as automatic capture traces a function as a whole.
  it("is one program with capture: 'auto'", () => {
    const found = stats(each, { capture: 'auto' });
    expect(found).toEqual({ breaks: [], fallbacks: [], translations: 1 });
  });

  it('breaks at its sizes by default', () => {
    const { breaks } = stats(each, {});
    expect(breaks.length).toBeGreaterThan(0);
    expect(breaks.filter((reason) => reason !== 'data-size' && reason !== 'data-read')).toEqual([]);
  });
});
