import fc from 'fast-check';
import { it, vi } from 'vitest';
import { withCaptureSession } from '../../../src/1-capture/capture.ts';
import type { ToStaticOptions } from '../../../src/index.ts';
import * as lib from '../../../src/index.ts';
import { values, type World, weights } from '../../trace/same-as-eager.ts';
import { compareWorlds } from '../compare-worlds.ts';
import { KnownDifferences } from '../known-differences.ts';
import { runs } from '../runs.ts';
import { type ViewProgram, viewPrograms, worldNames, worldText } from './programs.ts';

const modes: readonly ToStaticOptions[] = [
  {},
  { fullGraph: true },
  { capture: 'auto' },
  { memory: { budget: 0 } },
  { memory: 'cleaned', capture: 'auto' },
  { backend: 'interpret' },
];

function check(program: ViewProgram, options: ToStaticOptions, known: KnownDifferences): void {
  const make = new Function(...worldNames, worldText(program))(lib, values, weights) as () => World;
  known.allow(program.body, options.memory, () => {
    compareWorlds(make, 4, { drops: true, layouts: true, options });
  });
}

it('programs over views do captured what they do eagerly, in values and memory', {
  timeout: 3_600_000,
}, () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const known = new KnownDifferences();
  const property = fc.property(viewPrograms, fc.constantFrom(...modes), (program, options) =>
    check(program, options, known),
  );
  withCaptureSession(() => fc.assert(property, runs(40)));
  known.expectRare();
  warn.mockRestore();
});
