/** By default slices are taken only where the step, fused as it runs, is estimated to be no slower on any number of threads. */

import { expect, it } from 'vitest';
import { works } from '../../bench/works/works.ts';
import { workload as transformer } from '../../examples/workloads/char-transformer.ts';
import { events } from '../../runtime/memory/events.ts';
import type { Program } from '../../runtime/program/program.ts';
import { fusedForm } from '../../src/5-optimize/fuse/fused-form.ts';
import { chooseSlices } from '../../src/5-optimize/slices/choose-slices.ts';
import {
  type EstimatedTimes,
  isNoSlower,
  roughTimes,
} from '../../src/5-optimize/slices/rough-time.ts';
import { roughBytes } from '../../src/7-plan/plan.ts';
import { empty, type Tensor, type ToStaticOptions, toStatic } from '../../src/index.ts';
import { type PassRecord, passObservers } from '../../src/programs/pass-record.ts';
import { finish } from '../../src/programs/steps.ts';

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

const timesOf = (program: Program): EstimatedTimes =>
  roughTimes(fusedForm(program, new Set(program.outputs)));

/** W7 with the usual options, planned once for several tests. */
let planned: ReturnType<typeof launched> | undefined;
const usualPlan = () => {
  planned ??= launched('W7', {});
  return planned;
};

it('a step whose chains fuse keeps its launches, but for the smallest peak', async () => {
  const whole = await launched('W7', { passes: { slices: false } });
  const usual = await usualPlan();
  const smallest = await launched('W7', { memory: { prefer: 'bytes' } });
  expect(usual.kernels).toBe(whole.kernels);
  expect(smallest.kernels).toBeGreaterThan(whole.kernels);
  expect(smallest.records.some(({ applied }) => applied)).toBe(true);
  expect([usual.checksum, smallest.checksum]).toEqual([whole.checksum, whole.checksum]);
  for (const { before, program } of usual.records) {
    expect(isNoSlower(timesOf(program), timesOf(before))).toBe(true);
  }
});

it('a part that is too short to be shared gains nothing by threads', () => {
  const rowsOf = (rows: number): EstimatedTimes => {
    const captured = toStatic((x: Tensor, w: Tensor) => x.matmul(w));
    captured(empty([rows, 128], { device: 'meta' }), empty([128, 128], { device: 'meta' }));
    return roughTimes(captured.programs()[0]!.stages!.traced);
  };
  // Nanoseconds of a product on 1, 2 and 8 threads.
  const [whole, short] = [rowsOf(2048), rowsOf(2)];
  expect(whole[0]! / whole[1]!).toBeCloseTo(2, 0);
  expect(whole[1]!).toBeGreaterThan(2 * whole[2]!);
  expect(new Set(short).size).toBe(1);
});

it('a step whose slices would be shorter than what threads share stays whole', async () => {
  const records: PassRecord[] = [];
  const unsubscribe = passObservers.subscribe((record) => {
    if (record.pass === 'slices') records.push(record);
  });
  const work = transformer.build({ device: 'meta', size: 'reduced', breaks: false });
  const captured = toStatic(work.step.bind(work));
  captured(...work.inputs(0));
  await captured.ready();
  unsubscribe();
  expect(records.map(({ applied }) => applied)).toEqual([false]);
});

it.each<{ times: EstimatedTimes; isTaken: boolean }>([
  { times: [0.9, 0.9, 0.9], isTaken: true },
  { times: [0.9, 0.9, 1.1], isTaken: false },
  { times: [0.5, 0.99, 0.9], isTaken: false },
])('slices that take $times of the time: $isTaken', async ({ times, isTaken }) => {
  const { records } = await usualPlan();
  const { before } = records[0]!;
  const timesOf = (program: Program) => (program === before ? [1, 1, 1] : times);
  const chosen = finish(chooseSlices(before, roughBytes, false, { timesOf }));
  expect(chosen !== before).toBe(isTaken);
});

it('estimates times only of slices that save bytes, one candidate at a step', async () => {
  const { records } = await usualPlan();
  const { before } = records[0]!;
  const choosing = (costOf: (program: Program) => number) => {
    const counts = { candidates: -1, timed: 0, timedInStep: 0, steps: 0 };
    const counted = (program: Program) => {
      counts.candidates++;
      return costOf(program);
    };
    let inStep = 0;
    const timesOf = () => {
      counts.timed++;
      counts.timedInStep = Math.max(counts.timedInStep, ++inStep);
      return [1];
    };
    for (const _ of {
      [Symbol.iterator]: () => chooseSlices(before, counted, false, { timesOf }),
    }) {
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
