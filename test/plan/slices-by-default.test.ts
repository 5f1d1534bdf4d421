/** By default slices are taken only where the step, fused as it runs, is estimated to be no slower. */

import { expect, it } from 'vitest';
import { works } from '../../bench/works/works.ts';
import { events } from '../../runtime/memory/events.ts';
import type { Program } from '../../runtime/program/program.ts';
import { fusedForm } from '../../src/5-optimize/fuse/fused-form.ts';
import { chooseSlices } from '../../src/5-optimize/slices/choose-slices.ts';
import { roughTime } from '../../src/5-optimize/slices/rough-time.ts';
import { roughBytes } from '../../src/7-plan/plan.ts';
import { type ToStaticOptions, toStatic } from '../../src/index.ts';
import { type PassRecord, passObservers } from '../../src/programs/pass-record.ts';

/** Kernels of a step of the work in its final plan, and what the slices pass did. */
async function launched(name: string, options: ToStaticOptions) {
  const records: PassRecord[] = [];
  const unsubscribe = passObservers.subscribe((record) => {
    if (record.pass === 'slices') records.push(record);
  });
  const work = works()
    .find((each) => each.name === name)!
    .make();
  const captured = toStatic(work.step, { check: 0, ...options });
  for (let i = 0; i < 2; i++) captured()?.dispose();
  await captured.ready();
  unsubscribe();
  const { kernels } = events;
  captured()?.dispose();
  return { kernels: events.kernels - kernels, records, checksum: work.checksum() };
}

it('a step whose chains fuse keeps its launches, but for the smallest peak', async () => {
  const whole = await launched('W7', { passes: { slices: false } });
  const usual = await launched('W7', {});
  const smallest = await launched('W7', { memory: { prefer: 'bytes' } });
  expect(usual.kernels).toBe(whole.kernels);
  expect(smallest.kernels).toBeGreaterThan(whole.kernels);
  expect(smallest.records.some(({ applied }) => applied)).toBe(true);
  expect([usual.checksum, smallest.checksum]).toEqual([whole.checksum, whole.checksum]);
  for (const { given, program } of usual.records) {
    const [before, after] = [given, program].map((each) =>
      roughTime(fusedForm(each, new Set(each.outputs))),
    ) as [number, number];
    expect(after).toBeLessThanOrEqual(before);
  }
});

it('estimates times only of slices that save bytes, one candidate at a step', async () => {
  const { records } = await launched('W7', {});
  const { given } = records[0]!;
  const choosing = (costOf: (program: Program) => number) => {
    const counts = { candidates: -1, timed: 0, timedInStep: 0, steps: 0 };
    const counted = (program: Program) => {
      counts.candidates++;
      return costOf(program);
    };
    let inStep = 0;
    const timeOf = () => {
      counts.timed++;
      counts.timedInStep = Math.max(counts.timedInStep, ++inStep);
      return 1;
    };
    for (const _ of { [Symbol.iterator]: () => chooseSlices(given, counted, false, { timeOf }) }) {
      counts.steps++;
      inStep = 0;
    }
    return counts;
  };
  const unsaved = choosing(() => 2 ** 30);
  expect(unsaved.candidates).toBeGreaterThan(0);
  expect(unsaved).toMatchObject({ timed: 0, steps: unsaved.candidates });
  const usual = choosing(roughBytes);
  expect(usual.timed).toBeGreaterThan(1);
  // The program without slices, and the candidate.
  expect(usual.timedInStep).toBe(2);
  expect(usual.timed).toBeLessThanOrEqual(usual.candidates + 1);
});
