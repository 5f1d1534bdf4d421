/** Options of `toStatic` in any combination, none of which may change what a session does. */

import fc from 'fast-check';
import { type PassName, passNames } from '../../../src/5-optimize/passes.ts';
import type { ToStaticOptions } from '../../../src/index.ts';
import { memorySwitches } from '../../../src/programs/memory-options.ts';

/** Some of the names, each with the value false. */
const off = <Name extends string>(names: readonly Name[]) =>
  fc
    .subarray([...names], { maxLength: 5 })
    .map((chosen) => Object.fromEntries(chosen.map((name) => [name, false])));

const memory = fc
  .tuple(
    off(memorySwitches),
    fc.record(
      {
        budget: fc.constantFrom(0, 500, 1500, 4000),
        prefer: fc.constantFrom('time' as const, 'bytes' as const),
        savedMasks: fc.constant('bits' as const),
      },
      { requiredKeys: [] },
    ),
  )
  .map(([switches, others]) => ({ ...switches, ...others }));

const how = {
  dynamic: fc.boolean(),
  check: fc.constantFrom(1, 2, 20),
  minGraphSize: fc.constantFrom(3, 20, 200),
  traceLimit: fc.constantFrom(300, 3000),
  compile: fc.constant('hot' as const),
};

const plan = {
  memory: fc.oneof(memory, fc.constantFrom('cleaned' as const, 'beforeGradNodeInputs' as const)),
  passes: off<PassName>(passNames),
};

const mode = fc.constantFrom<ToStaticOptions>({}, { capture: 'auto' }, { fullGraph: true });

export const combinedOptions: fc.Arbitrary<ToStaticOptions> = fc
  .tuple(
    mode,
    fc.record(how, { requiredKeys: [] }),
    fc.oneof(
      { weight: 4, arbitrary: fc.record(plan, { requiredKeys: [] }) },
      { weight: 1, arbitrary: fc.constant({ backend: 'interpret' }) },
    ),
  )
  .map((all) => Object.assign({}, ...all) as ToStaticOptions);
