/** By default slices are taken only where the step, fused as it runs, is estimated to be no slower. */

import { expect, it } from 'vitest';
import { works } from '../../bench/works/works.ts';
import { events } from '../../runtime/memory/events.ts';
import { fusedForm } from '../../src/5-optimize/fuse/fused-form.ts';
import { roughTime } from '../../src/5-optimize/slices/rough-time.ts';
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
