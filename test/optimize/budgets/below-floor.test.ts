/**
 * From the bytes of the plan without a budget down to none: a budget is held, or its plan is the smallest one found;
 * fewer bytes never cost less arithmetic; and nothing recomputes many times what forward computes.
 */

import { expect, it } from 'vitest';
import { workload as transformer } from '../../../examples/workloads/char-transformer.ts';
import { workload as convNet } from '../../../examples/workloads/conv-net.ts';
import { workload as cswin } from '../../../examples/workloads/cswin.ts';
import { workload as lstm } from '../../../examples/workloads/lstm.ts';
import { workload as mlp } from '../../../examples/workloads/mlp.ts';
import { workload as resnet } from '../../../examples/workloads/resnet.ts';
import { sourceOf } from '../../../src/check/sources.ts';
import { deviceGuard, type Tensor, toStatic } from '../../../src/index.ts';
import type { Workload } from '../../../src/lab/compare/workload.ts';
import type { MemoryOptions } from '../../../src/programs/memory-options.ts';
import { passObservers } from '../../../src/programs/pass-record.ts';
import { shareOfDay } from '../../share-of-day.ts';

/** More than this many times forward's arithmetic is never recomputed. */
const mostWork = 4;

const shares = [1, 0.7, 0.5, 0.4, 0.3, 0.2, 0.1, 0];
const works: readonly (readonly [string, Workload, readonly number[]])[] = [
  ['mlp', mlp, shares],
  ['conv-net', convNet, shares],
  ['lstm', lstm, [0.7, 0.4, 0]],
  ['resnet', resnet, [0.6, 0.4, 0.3, 0]],
  ['char-transformer', transformer, shares],
  // Planned in seconds each.
  ['cswin', cswin, [0.3]],
];

it.each(shareOfDay(works, 1))(
  '%s',
  (_, workload, shares) => {
    deviceGuard('meta', () => {
      const work = workload.build({ device: 'meta', size: 'reduced', breaks: false });
      const f = toStatic(work.step.bind(work) as (...inputs: Tensor[]) => Tensor, {
        fallback: 'error',
      });
      const inputs = work.inputs(0);
      f(...inputs).dispose();
      const { planned } = f.programs().at(-1)!.stages!;
      const { program, requested, options, donated, compile } = sourceOf(planned)!;
      const plan = (own: Partial<MemoryOptions>) => {
        const memory = { ...options.memory, slices: false, ...own };
        return compile(program, requested, { ...options, tier: 'final', memory }, donated);
      };
      const most = plan({}).planned.forward.predicted.peakBytes;
      let plans = 0;
      const stop = passObservers.subscribe(({ pass }) => {
        if (pass === 'fuseRows') plans++;
      });
      const all = shares.map((share) => {
        plans = 0;
        const { recompute } = plan({ budget: Math.floor(most * share) });
        expect(plans, `plans within ${share}`).toBeLessThan(60);
        return recompute!;
      });
      stop();
      const floor = all.at(-1)!;
      let before = 0;
      for (const { bytes, budget, share } of all) {
        if (bytes > budget) expect(bytes).toBe(floor.bytes);
        expect(bytes).toBeGreaterThanOrEqual(floor.bytes);
        expect(share).toBeGreaterThanOrEqual(before);
        expect(share).toBeLessThanOrEqual(mostWork);
        before = share;
      }
      expect(floor.bytes).toBeGreaterThan(floor.budget);
      // The smallest plan's own bytes are a budget that is held with no more arithmetic.
      const held = plan({ budget: floor.bytes }).recompute!;
      expect(held.bytes).toBeLessThanOrEqual(floor.bytes);
      expect(held.share).toBeLessThanOrEqual(floor.share);
      for (const each of [...inputs, work]) each.dispose();
    });
  },
  300_000,
);
