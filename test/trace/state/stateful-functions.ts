import { describe, expect, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, type World } from '../same-as-eager.ts';

/** Functions, each made with the state that its calls change. */
export type StatefulFunctions = Readonly<
  Record<string, () => { fn: (x: Tensor, k: number) => unknown; state: () => unknown }>
>;

/** Calls each function with the numbers from 1 on, with and without graph breaks. */
export function expectStatesAsEager(cases: StatefulFunctions): void {
  describe.each(Object.keys(cases))('%s', (name) => {
    it.each([{}, { capture: 'auto' }] as const)('as eagerly, %o', (options) => {
      const make = (): World => {
        const { fn, state } = cases[name]!();
        return { fn, state, args: (call) => [values([2]), call + 1] };
      };
      const { stats } = expectSameAsEager(make, { calls: 7, ...options });
      expect(stats.graphs).toBeGreaterThan(0);
    });
  });
}
