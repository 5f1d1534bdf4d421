/**
 * Whole training steps, captured, leave the bits that eager steps leave: losses, parameters, buffers,
 * gradients, optimizer state, counters and random numbers; with every module, optimizer, preset and switch.
 *
 * `TRAINING_ROUNDS=40 TRAINING_SEED=7 npx vitest run test/training-steps` runs more of them.
 */

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { withCaptureSession } from '../../src/1-capture/capture.ts';
import { nn, optim, tidy } from '../../src/index.ts';
import { shareOfDay } from '../share-of-day.ts';
import { checkCase, share, type Tally } from './check-case.ts';
import { Choices } from './choices.ts';
import { subjects } from './modules.ts';
import { optimizers } from './optimizers.ts';
import type { TrainingCase } from './training-case.ts';

const { TRAINING_ROUNDS, TRAINING_SEED = '1', TRAINING_CASE } = process.env;
const first = Number(TRAINING_SEED);
const rounds = Number(TRAINING_ROUNDS ?? 1);
const optimizerNames = Object.keys(optimizers);
/** A quarter of the modules has too few cases for shares of them. */
const isOfOneDay = process.env.TEST_PART !== undefined;

/** Seeds whose steps were once wrong. */
const known: readonly TrainingCase[] = [
  // Gates, which are views of views of products that are made part by part.
  { module: 'LSTM', optimizer: 'ASGD', seed: 32 },
  { module: 'GRU', optimizer: 'Adam', seed: 331 },
  // Parts of a strided value, put together, were summed in another order.
  { module: 'MultiheadAttention', optimizer: 'RMSprop', seed: 2833 },
];

beforeAll(() => {
  // A budget that no plan fits warns.
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});
afterAll(() => {
  vi.restoreAllMocks();
});

const isSubclass = (value: unknown, of: object): boolean =>
  typeof value === 'function' && Object.prototype.isPrototypeOf.call(of, value);

describe.runIf(TRAINING_CASE === undefined)('training-steps', () => {
  const tally: Tally = new Map();
  let cases = 0;

  it.each(shareOfDay(Object.keys(subjects).map((module, i) => [module, i] as const)))(
    '%s: as eagerly, to the bit',
    { timeout: 3_600_000 },
    (module, index) => {
      const applied = new Set<string>();
      withCaptureSession(() => {
        for (let round = 0; round < rounds; round++) {
          const seed = 100 * (first + round) + index;
          const optimizer = optimizerNames[(first + round + index) % optimizerNames.length]!;
          const seen = checkCase({ module, optimizer, seed }, first + round + index, tally);
          for (const name of seen) applied.add(name);
          cases++;
        }
      });
      expect([...applied]).toEqual(expect.arrayContaining(['order', 'reuse', 'arena']));
    },
  );

  it('every module and every optimizer of the package takes part', () => {
    const made = Object.values(subjects).flatMap((make) =>
      tidy(() => make(new Choices(1)).modules.flatMap((module) => [...module.modules()])),
    );
    const tried = new Set<unknown>(made.map((module) => module.constructor));
    const missing = Object.entries(nn).filter(
      ([, each]) => isSubclass(each, nn.Module) && !tried.has(each),
    );
    expect(missing.map(([name]) => name)).toEqual([]);
    const classes = Object.entries(optim).filter(([, each]) => isSubclass(each, optim.Optimizer));
    // LBFGS calls a closure several times in a step, and Muon takes matrices alone: test/optim/lbfgs and muon.
    const others = ['Optimizer', 'LBFGS', 'Muon'];
    expect([...optimizerNames].sort()).toEqual(
      classes.flatMap(([name]) => (others.includes(name) ? [] : [name])).sort(),
    );
  });

  it.runIf(isOfOneDay)('every optimisation was applied', () => {
    const names = ['order', 'reuse', 'arena', 'minimizeSaved', 'slices', 'recompute'] as const;
    for (const name of names) {
      expect(share(tally, name, cases), name).toBeGreaterThan(0);
    }
  });

  it.skipIf(isOfOneDay)('every optimisation was applied in a good share of the cases', () => {
    expect(share(tally, 'order', cases)).toBeGreaterThan(0.5);
    expect(share(tally, 'reuse', cases)).toBeGreaterThan(0.9);
    expect(share(tally, 'arena', cases)).toBeGreaterThan(0.9);
    expect(share(tally, 'minimizeSaved', cases)).toBeGreaterThan(0.2);
    expect(share(tally, 'slices', cases)).toBeGreaterThan(0.25);
    expect(share(tally, 'recompute', cases)).toBeGreaterThan(0.3);
    expect(share(tally, 'donate', cases)).toBeGreaterThan(0.02);
  });

  it.each(known)(
    'as eagerly where it once was not: $module $seed',
    { timeout: 600_000 },
    (given) => {
      withCaptureSession(() => {
        checkCase(given, given.seed, new Map());
      });
    },
  );
});

it.runIf(TRAINING_CASE)('the case that TRAINING_CASE names', { timeout: 600_000 }, () => {
  const given = JSON.parse(TRAINING_CASE!) as TrainingCase;
  withCaptureSession(() => {
    for (let round = 0; round < 13; round++) checkCase(given, round, new Map());
  });
});
