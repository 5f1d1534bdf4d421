import fc from 'fast-check';
import { expect, it } from 'vitest';
import { withCaptureSession } from '../../../src/1-capture/capture.ts';
import * as lib from '../../../src/index.ts';
import { shareOfDay } from '../../share-of-day.ts';
import { values, type World, weights } from '../../trace/same-as-eager.ts';
import { compareAwaitedWorlds, compareWorlds } from '../compare-worlds.ts';
import { runs } from '../runs.ts';
import { asyncPrograms, type UserProgram, userPrograms } from './programs.ts';
import { worldNames, worldText } from './world.ts';

/** How many programs a short run has, and the share of them that are one program at least. */
const modes = {
  'with graph breaks': { options: {}, usually: 15, compared: 1 },
  'with branches of the program and breaks': {
    options: { capture: 'auto' },
    usually: 15,
    compared: 1,
  },
  'as one program': { options: { fullGraph: true }, usually: 25, compared: 0.3 },
} as const;

/** Undefined: no program after all, labels have met. */
function worldsOf(program: UserProgram): (() => World) | undefined {
  let make: (...names: unknown[]) => () => World;
  try {
    make = new Function(...worldNames, worldText(program)) as typeof make;
  } catch {
    return undefined;
  }
  return make(lib, values, weights);
}

it.each(shareOfDay(Object.entries(modes)))(
  'programs in the style of user code do captured what they do eagerly, %s',
  { timeout: 3_600_000 },
  (_name, { options, usually, compared }) => {
    const count = { same: 0, refused: 0 };
    const property = fc.property(userPrograms, (program) => {
      const make = worldsOf(program);
      fc.pre(make !== undefined);
      count[compareWorlds(make, 5, { options })]++;
    });
    withCaptureSession(() => fc.assert(property, runs(usually)));
    expect(count.same / (count.same + count.refused)).toBeGreaterThanOrEqual(compared);
  },
);

it('asynchronous programs do captured what they do eagerly', { timeout: 3_600_000 }, async () => {
  const property = fc.asyncProperty(asyncPrograms, fc.boolean(), async (program, converts) => {
    const make = worldsOf(program);
    fc.pre(make !== undefined);
    await compareAwaitedWorlds(make, 4, converts ? { options: { capture: 'auto' } } : {});
  });
  await fc.assert(property, runs(15));
});
