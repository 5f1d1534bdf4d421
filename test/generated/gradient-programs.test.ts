import fc from 'fast-check';
import { it } from 'vitest';
import { withCaptureSession } from '../../src/1-capture/capture.ts';
import * as lib from '../../src/index.ts';
import { values, type World, weights } from '../trace/same-as-eager.ts';
import { compareWorlds } from './compare-worlds.ts';
import {
  type GradientProgram,
  gradientPrograms,
  worldNames,
  worldText,
} from './gradient-programs.ts';
import { runs } from './runs.ts';

/** Differences by design: what a message must say. */
const known = [
  // Handles that nobody uses any more stand in the way eagerly, until they are collected.
  ['memory that several tensors show'],
];

function check(program: GradientProgram): void {
  const make = new Function(...worldNames, worldText(program))(lib, values, weights) as () => World;
  try {
    compareWorlds(make, 3, { drops: true });
  } catch (error) {
    if (!known.some((each) => each.every((part) => String(error).includes(part)))) throw error;
  }
}

it('programs that differentiate do captured what they do eagerly', { timeout: 3_600_000 }, () => {
  withCaptureSession(() => fc.assert(fc.property(gradientPrograms, check), runs(60)));
});
