import fc from 'fast-check';
import { it, vi } from 'vitest';
import { withCaptureSession } from '../../src/1-capture/capture.ts';
import * as lib from '../../src/index.ts';
import { values, type World, weights } from '../trace/same-as-eager.ts';
import { type Compared, compareWorlds } from './compare-worlds.ts';
import {
  type GradientProgram,
  gradientPrograms,
  worldNames,
  worldText,
} from './gradient-programs.ts';
import { KnownDifferences } from './known-differences.ts';
import { runs } from './runs.ts';

function check(program: GradientProgram, how: Compared, known: KnownDifferences): void {
  const make = new Function(...worldNames, worldText(program))(lib, values, weights) as () => World;
  known.allow(program.body, how.memory, () => compareWorlds(make, 3, { drops: true, ...how }));
}

it('programs that differentiate do captured what they do eagerly', { timeout: 3_600_000 }, () => {
  const known = new KnownDifferences();
  const property = fc.property(gradientPrograms, (program) => check(program, {}, known));
  withCaptureSession(() => fc.assert(property, runs(60)));
  known.expectRare();
});

it('and where backward computes again what it can', { timeout: 3_600_000 }, () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const known = new KnownDifferences();
  const property = fc.property(gradientPrograms, (program) =>
    check(program, { memory: { budget: 0 } }, known),
  );
  withCaptureSession(() => fc.assert(property, runs(30)));
  known.expectRare();
  warn.mockRestore();
});
