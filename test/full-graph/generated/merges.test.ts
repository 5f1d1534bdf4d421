/**
 * Functions from seeds whose branches and loops leave tensors of different memory, layout and gradient history: as
 * one program, as programs that graph control flow and breaks share, and as programs with breaks alone.
 */

import { describe, expect, it } from 'vitest';
import { type Check, type Mode, shrunk } from '../../generated/control/compare.ts';
import { mergeProblem } from '../../generated/control/compare-merges.ts';
import { functionText, type Kind, programFrom } from '../../generated/control/merge-programs.ts';
import { shareOfDay } from '../../share-of-day.ts';

/** More of them: `TOSTATIC_TEST_PROGRAMS=5000`, from another seed on: `TOSTATIC_TEST_SEED=300`. */
const count = Number(process.env.TOSTATIC_TEST_PROGRAMS ?? 60);
const start = Number(process.env.TOSTATIC_TEST_SEED ?? 0);
const perTest = 20;

/** Most as one program, which is where merges are. */
const modesOf = (seed: number): readonly Mode[] =>
  seed % 5 === 0 ? ['one program', 'auto', 'breaks'] : ['one program'];

describe('merged tensors are what they are eagerly', () => {
  const first = Array.from({ length: Math.ceil(count / perTest) }, (_, i) => start + i * perTest);
  it.each(shareOfDay(first))('in programs from seed %i on', { timeout: 600_000 }, (from) => {
    expectRight('plain', from, perTest);
  });

  /** Fewer of each: most of what they do is what the others do. */
  const some = Math.ceil(count / 8);
  it.each(shareOfDay(['mixed', 'sized'] as const, 1))(
    'in %s programs',
    { timeout: 600_000 },
    (kind) => {
      expectRight(kind, start, some);
    },
  );

  it('in programs that have differed once', () => {
    expect(mergeProblem(programFrom(435, 'mixed'), 'auto', 'mixed')?.kind).not.toBe('wrong');
    // A view of all of a tensor, handed through a branch, is not the tensor.
    const view = mergeProblem(programFrom(30298, 'plain'), 'one program', 'plain');
    expect(view?.kind).not.toBe('wrong');
  });
});

function expectRight(kind: Kind, from: number, programs: number): void {
  let [refused, runs] = [0, 0];
  for (let seed = from; seed < from + programs; seed++) {
    const nodes = programFrom(seed, kind);
    for (const mode of modesOf(seed)) {
      runs++;
      const check: Check = (each) => mergeProblem(each, mode, kind);
      const found = check(nodes);
      if (found?.kind === 'refused') refused++;
      if (found?.kind !== 'wrong') continue;
      const least = shrunk(nodes, check);
      const text = `${check(least)?.text}\n${functionText(least, kind)}`;
      expect.fail(`${kind} seed ${seed}, ${mode}: ${text}`);
    }
  }
  // Writes through which gradients flow are most of them.
  expect(refused).toBeLessThan(runs / 2);
}
