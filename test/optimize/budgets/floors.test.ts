/** The smallest plan that a budget finds is as small as any that switches reach, within a twentieth. */

import { expect, it } from 'vitest';
import { workload as transformer } from '../../../examples/workloads/char-transformer.ts';
import { workload as convNet } from '../../../examples/workloads/conv-net.ts';
import { workload as cswin } from '../../../examples/workloads/cswin.ts';
import { workload as lstm } from '../../../examples/workloads/lstm.ts';
import { workload as mlp } from '../../../examples/workloads/mlp.ts';
import { workload as resnet } from '../../../examples/workloads/resnet.ts';
import { sourceOf } from '../../../src/check/sources.ts';
import { deviceGuard, type Tensor, toStatic } from '../../../src/index.ts';
import { type MemoryOptions, memorySwitches } from '../../../src/programs/memory-options.ts';
import { passObservers } from '../../../src/programs/pass-record.ts';
import { shareOfDay } from '../../share-of-day.ts';

const works = { mlp, 'conv-net': convNet, lstm, resnet, 'char-transformer': transformer, cswin };

/** Switches of passes that a budget weighs against none; the others only take something away. */
const weighed = ['slices', 'recomputeScores', 'savedMasks'] as const;

/** Switches of single passes: one that changes no candidate leaves the same search when it is off. */
const ofPasses: ReadonlySet<string> = new Set([...weighed, 'savedPlaces']);

/** Switches that leave these plans and their peaks as they are. */
const without: ReadonlySet<string> = new Set([
  // What stays for a backward: these steps run theirs inside.
  ...['skipSet', 'unusedInputs', 'inputCopies', 'unusedOutputs', 'noNeedBuffer'],
  ...['gradNodeInputs', 'compactViews'],
  // What is donated is given here; the arena has a place for what is live.
  ...['donate', 'arena'],
]);
const acting = memorySwitches.filter((name) => !without.has(name));

it.each(shareOfDay(Object.entries(works)))(
  '%s',
  (_, workload) => {
    deviceGuard('meta', () => {
      const work = workload.build({ device: 'meta' });
      const f = toStatic(work.step.bind(work) as (...inputs: Tensor[]) => Tensor, {
        fallback: 'error',
      });
      const inputs = work.inputs(0);
      f(...inputs).dispose();
      const { planned } = f.programs().at(-1)!.stages!;
      const { program, requested, options, donated, compile } = sourceOf(planned)!;
      expect(planned.backward).toBeNull();
      expect(program.ops.some(({ regions, call }) => regions || call)).toBe(false);
      const least = (own: Partial<MemoryOptions>) => {
        const memory = { ...options.memory, prefer: 'bytes', ...own } as const;
        const stages = compile(program, requested, { ...options, tier: 'final', memory }, donated);
        return stages.planned.forward.predicted.peakBytes;
      };
      const searched = (budget: number | null) => {
        const applied = new Set<string>();
        const stop = passObservers.subscribe((run) => {
          if (run.applied) applied.add(run.pass);
        });
        const bytes = least({ budget });
        stop();
        return { bytes, applied };
      };
      const { bytes: floor, applied } = searched(0);
      const whole = searched(null);
      expect(floor).toBeLessThanOrEqual(whole.bytes);
      // The search itself weighs plans without these passes: that it takes the smallest, small programs show as well.
      const within = program.ops.length > 400 ? [] : weighed.filter((name) => applied.has(name));
      const outside = acting.filter((name) => !ofPasses.has(name) || whole.applied.has(name));
      let smaller = 0;
      for (const budget of [null, 0]) {
        for (const name of budget === null ? outside : within) {
          const bytes = least({ [name]: false, budget });
          expect.soft(floor, `${name} off, budget ${budget}`).toBeLessThanOrEqual(bytes * 1.05);
          if (floor < bytes) smaller++;
        }
      }
      expect(smaller).toBeGreaterThan(5);
      // Nor does a budget that is held find a smaller one by chance.
      for (const share of program.ops.length > 1500 ? [] : [1.1, 1.03]) {
        const bytes = least({ budget: Math.floor(floor * share) });
        expect.soft(floor, `budget of ${share} floors`).toBeLessThanOrEqual(bytes * 1.05);
      }
      for (const each of [...inputs, work]) each.dispose();
    });
  },
  300_000,
);
