import fc from 'fast-check';
import { it } from 'vitest';
import { withCaptureSession } from '../../src/1-capture/capture.ts';
import * as lib from '../../src/index.ts';
import { values, type World, weights } from '../trace/same-as-eager.ts';
import { compareWorlds } from './compare-worlds.ts';
import { runs } from './runs.ts';
import { type TensorProgram, tensorPrograms, worldNames, worldText } from './tensor-programs.ts';

/** The same worlds, but the first argument has other sizes in each call, and all else broadcasts to it. */
function sizedWorld(program: TensorProgram): string {
  return worldText(program)
    .replaceAll('[2, 3]', '[1, 3]')
    .replace('const x = values([1, 3]', 'const x = values([[2, 4, 5, 2, 7][call], 3]');
}

function check(program: TensorProgram): void {
  const make = new Function(...worldNames, sizedWorld(program))(
    lib,
    values,
    weights,
  ) as () => World;
  compareWorlds(make, 5);
}

it('tensor programs do captured what they do eagerly, for sizes that change', {
  timeout: 3_600_000,
}, () => {
  withCaptureSession(() => fc.assert(fc.property(tensorPrograms, check), runs(40)));
});
