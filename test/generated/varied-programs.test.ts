/** The same programs with arguments of other dtypes, layouts and sizes, and other memory options. */

import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { withCaptureSession } from '../../src/1-capture/capture.ts';
import * as lib from '../../src/index.ts';
import { values, type World } from '../trace/same-as-eager.ts';
import { compareWorlds } from './compare-worlds.ts';
import * as gradients from './gradient-programs.ts';
import { KnownDifferences } from './known-differences.ts';
import { runs } from './runs.ts';
import * as tensors from './tensor-programs.ts';
import {
  beside,
  givenTensor,
  Met,
  rowsOf,
  switchGradients,
  type Variation,
  variations,
  weightsOf,
} from './variations.ts';

/** What the variation gives stands where the text of a world makes its arguments; all else broadcasts to `x`. */
function varied(world: string, variation: Variation): string {
  const rows = rowsOf(variation);
  const rowsOfCall = `${JSON.stringify(rows)}[call % ${rows.length}]`;
  return world
    .replace(
      /const x = values\(\[2, 3\], call \+ 20\);/,
      `const x = given(0, ${rowsOfCall}, call + 20); switchGradients(call, [w0, w1], x);`,
    )
    .replace(': kept;', ': beside(x, kept);')
    .replace('const y = values([2, 3], 7);', 'const y = beside(x, values([2, 3], 7));')
    .replace(/values\(\[2, 3\], 7\)/, `given(1, ${rows.length > 1 ? 1 : rows[0]}, 7)`)
    .replaceAll('[2, 3]', rows.length > 1 ? '[1, 3]' : `[${rows[0]}, 3]`);
}

const kinds = {
  tensor: {
    programs: tensors.tensorPrograms as fc.Arbitrary<{ readonly body: string }>,
    text: tensors.worldText,
    calls: 5,
    drops: false,
    usually: 40,
  },
  gradient: {
    programs: gradients.gradientPrograms as fc.Arbitrary<{ readonly body: string }>,
    text: gradients.worldText,
    calls: 3,
    drops: true,
    usually: 40,
  },
};

it.each(Object.keys(kinds) as (keyof typeof kinds)[])(
  '%s programs do captured what they do eagerly, however they are given their arguments',
  { timeout: 3_600_000 },
  (kind) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const { programs, text, calls, drops, usually } = kinds[kind];
    const met = new Met();
    const known = new KnownDifferences();
    const property = fc.property(programs, variations, (program, variation) => {
      const source = varied(text(program), variation);
      const names = {
        lib,
        values,
        weights: weightsOf(variation),
        given: givenTensor.bind(null, variation),
        beside: beside.bind(null, variation),
        switchGradients: switchGradients.bind(null, variation),
      };
      const make = new Function(...Object.keys(names), source)(
        ...Object.values(names),
      ) as () => World;
      met.note(variation);
      known.allow(program.body, variation.memory, () =>
        compareWorlds(make, calls, { drops, memory: variation.memory }),
      );
    });
    withCaptureSession(() => fc.assert(property, runs(usually)));
    warn.mockRestore();
    known.expectRare();
    expect(met.rarerThan(1)).toEqual([]);
  },
);
