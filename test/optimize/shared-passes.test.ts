/** Candidates of one compilation that begin with the same passes run these once. */

import { expect, it } from 'vitest';
import type { Program } from '../../runtime/program/program.ts';
import { Field } from '../../runtime/save/file/field.ts';
import type { Pass, Staged } from '../../src/5-optimize/facts/pass.ts';
import { SharedPasses } from '../../src/5-optimize/facts/shared-passes.ts';
import { Choices } from '../../src/programs/choices.ts';
import { type MemoryOptions, memoryOptions } from '../../src/programs/memory-options.ts';
import { finish } from '../../src/programs/steps.ts';

const program: Program = { values: [], inputs: [], ops: [], outputs: [] };
const given: Staged = { program, firstLate: 0, alsoRead: [] };

/** Counts its runs, and notes the number of the one that it chose. */
function counting(name: string): Pass & { readonly runs: () => number } {
  let runs = 0;
  return {
    name,
    stages: ['step'],
    runs: () => runs,
    run: (staged, { choices }) => {
      const number = choices?.of('number', (choice) => choice.int(0, 9)) ?? runs;
      runs++;
      choices?.note('number', number);
      return { ...staged, program: { ...staged.program } };
    },
  };
}

const contextOf = (choices: Choices, memory: Partial<MemoryOptions> = {}) => ({
  stage: 'step' as const,
  memory: memoryOptions(memory),
  gradOutputs: 0,
  costOf: () => 0,
  choices,
});

it('a pass runs once for candidates that differ in the options of others, and again for its own', () => {
  const shared = new SharedPasses();
  const pass = counting('recomputeScores');
  const after = (memory: Partial<MemoryOptions>, staged = given) =>
    finish(shared.after(pass, staged, contextOf(Choices.none(), memory)));
  const first = after({});
  expect(after({ slices: false, savedMasks: false })).toBe(first);
  expect(pass.runs()).toBe(1);
  expect(after({ recomputeScores: false })).not.toBe(first);
  expect(after({ budget: 1000 })).not.toBe(first);
  expect(after({}, { ...given, program: { ...program } })).not.toBe(first);
  expect(pass.runs()).toBe(4);
});

it('each candidate notes what the pass chose, and a later compilation makes the same choice again', () => {
  const shared = new SharedPasses();
  const pass = counting('simplify');
  const candidates = [Choices.noted(), Choices.noted()];
  for (const choices of candidates) finish(shared.after(pass, given, contextOf(choices)));
  expect(pass.runs()).toBe(1);
  const [first, second] = candidates.map((each) => JSON.stringify(each));
  expect(first).toBe('[["number",0]]');
  expect(second).toBe(first);
  const known = Choices.known(new Field(JSON.parse(second!), 'choices'));
  finish(shared.after(pass, given, contextOf(known)));
  expect(pass.runs()).toBe(2);
  expect(known.isUsedUp).toBe(true);
});
