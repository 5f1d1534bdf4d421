/** The default needs no more bytes than any preset, for every workload, with its forced breaks and without. */

import { expect, it } from 'vitest';
import { workload as transformer } from '../../examples/workloads/char-transformer.ts';
import { workload as convNet } from '../../examples/workloads/conv-net.ts';
import { workload as cswin } from '../../examples/workloads/cswin.ts';
import { workload as lstm } from '../../examples/workloads/lstm.ts';
import { workload as mlp } from '../../examples/workloads/mlp.ts';
import { workload as resnet } from '../../examples/workloads/resnet.ts';
import { deviceGuard, memory, type Tensor, toStatic } from '../../src/index.ts';
import type { Workload } from '../../src/lab/compare/workload.ts';
import {
  type MemoryChoice,
  type MemoryPreset,
  memoryPresets,
} from '../../src/programs/memory-options.ts';
import { shareOfDay } from '../share-of-day.ts';

/** Bytes at the peak of a later step, forward and backward apart: what values that cross breaks keep is known then. */
async function peakOf(workload: Workload, breaks: boolean, choice: MemoryChoice) {
  const work = workload.build({ device: 'meta', size: 'reduced', breaks });
  const inputs = deviceGuard('meta', () => work.inputs(0));
  const loss = toStatic(work.loss, { memory: choice });
  const step = () =>
    deviceGuard('meta', () => {
      const value = loss(...(inputs as Tensor[]));
      value.backward();
      work.optimizer.step();
      work.optimizer.zeroGrad();
      value.dispose();
    });
  step();
  step();
  await loss.ready();
  step();
  memory.reset('meta');
  step();
  const { peakAllocated } = memory.stats('meta');
  const { graphs } = loss.stats();
  for (const each of [...inputs, work]) each.dispose();
  return { peakAllocated, graphs };
}

const works = { mlp, 'conv-net': convNet, lstm, resnet, transformer, cswin };
const presets = (Object.keys(memoryPresets) as MemoryPreset[]).filter((name) => name !== 'planned');

it.each(shareOfDay(Object.entries(works)))(
  '%s',
  async (name, workload) => {
    let larger = 0;
    for (const breaks of [false, true]) {
      const own = await peakOf(workload, breaks, {});
      if (breaks) expect(own.graphs).toBeGreaterThan(1);
      for (const preset of presets) {
        const { peakAllocated } = await peakOf(workload, breaks, preset);
        expect
          .soft(own.peakAllocated, `${preset}, breaks ${breaks}`)
          .toBeLessThanOrEqual(peakAllocated);
        if (own.peakAllocated < peakAllocated) larger++;
      }
    }
    // The MLP's peak is its update, which no preset changes.
    if (name !== 'mlp') expect(larger).toBeGreaterThan(0);
  },
  300_000,
);
