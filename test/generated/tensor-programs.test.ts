import fc from 'fast-check';
import { it } from 'vitest';
import { withCaptureSession } from '../../src/1-capture/capture.ts';
import * as lib from '../../src/index.ts';
import { values, type World, weights } from '../trace/same-as-eager.ts';
import { compareWorlds } from './compare-worlds.ts';
import { runs } from './runs.ts';
import { type TensorProgram, tensorPrograms, worldNames, worldText } from './tensor-programs.ts';

function check(program: TensorProgram): void {
  const make = new Function(...worldNames, worldText(program))(lib, values, weights) as () => World;
  compareWorlds(make, 5);
}

it('tensor programs do captured what they do eagerly', { timeout: 3_600_000 }, () => {
  // One debugger session for all: switching it on takes longer than a program.
  withCaptureSession(() => fc.assert(fc.property(tensorPrograms, check), runs(80)));
});
