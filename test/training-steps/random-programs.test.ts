/**
 * Random tensor programs, by themselves or as whole training steps, do captured what they do eagerly, to the
 * bit: over strided inputs, mixed dtypes, views, writes in place, checkpoints, presets, switches and budgets.
 *
 * `PROGRAMS=1000 PROGRAM_SEED=5000 npx vitest run test/training-steps/random-programs` runs that many, from
 * that seed on; a failure names its seed, and `PROGRAMS=1` runs it alone.
 */

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { withCaptureSession } from '../../src/1-capture/capture.ts';
import { appliedTo } from '../../src/index.ts';
import { functionText, randomProgram } from './random-program.ts';
import { choiceFor, runRandom } from './run-random.ts';
import { differences, mispredicted } from './run-steps.ts';

const { PROGRAMS = '40', PROGRAM_SEED = '0' } = process.env;
const [count, first] = [Number(PROGRAMS), Number(PROGRAM_SEED)];

beforeAll(() => {
  // A budget that no plan fits warns.
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});
afterAll(() => {
  vi.restoreAllMocks();
});

it('random programs do captured what they do eagerly', { timeout: 3_600_000 }, () => {
  const seen = new Map<string, number>();
  withCaptureSession(() => {
    for (let seed = first; seed < first + count; seed++) {
      const program = randomProgram(seed);
      const choice = choiceFor(seed);
      const eager = runRandom(program, seed, null);
      const own = runRandom(program, seed, choice);
      const what = `PROGRAMS=1 PROGRAM_SEED=${seed}, memory ${JSON.stringify(choice)}:\n${functionText(program)}`;
      expect(differences(eager, own), what).toEqual([]);
      expect(mispredicted(own), what).toEqual([]);
      expect(own.exceptions, what).toEqual([]);
      for (const part of own.parts) {
        for (const [name, times] of Object.entries(appliedTo(part) ?? {})) {
          if (times > 0) seen.set(name, (seen.get(name) ?? 0) + 1);
        }
      }
    }
  });
  if (count < 40) return;
  for (const name of ['order', 'reuse', 'arena', 'checkpoints']) {
    expect(seen.get(name) ?? 0, name).toBeGreaterThan(count / 4);
  }
  // Most are too small for any.
  expect(seen.get('slices') ?? 0).toBeGreaterThan(count / 40);
});
