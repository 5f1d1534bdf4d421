import fc from 'fast-check';
import { it } from 'vitest';
import { run, step } from '../../src/resume/interpreter.ts';
import { executeFrame } from '../../src/resume/machine.ts';
import { bytecodeOutcome, type Example, nativeOutcome } from '../resume/world.ts';
import { languagePrograms } from './language-programs.ts';
import { runs } from './runs.ts';

/** The places where a run is interrupted: all of a short one, some of a long one; fewer where it must be quick. */
const mostStops = process.env['GENERATED_RUNS'] ? 60 : 6;

/** The engine words its messages by the text of the program, which temporaries don't have. */
const withoutMessages = (outcome: string): string =>
  outcome.replace(/(throws \w*Error): .*/g, '$1').replace(/^\(.*?\) (→|throws)/gm, '$1');

function isValid({ fn, sloppy }: Example): boolean {
  try {
    new Function(`${sloppy ? '' : '"use strict";'} return ${fn}`);
    return true;
  } catch {
    return false;
  }
}

function check(example: Example): void {
  fc.pre(isValid(example)); // labels may meet
  const expected = withoutMessages(nativeOutcome(example));
  const expectSame = (outcome: string, how: string): void => {
    const actual = withoutMessages(outcome);
    if (actual !== expected) throw new Error(`${how}\nexpected\n${expected}\nactual\n${actual}`);
  };
  let length = 0;
  const counting = (frame: Parameters<typeof step>[0]): unknown => {
    for (length = 1; ; length++) {
      const result = step(frame);
      if (result.kind === 'return') return result.value;
    }
  };
  expectSame(bytecodeOutcome(example, run), 'interpreter');
  expectSame(bytecodeOutcome(example, executeFrame), 'machine');
  expectSame(bytecodeOutcome(example, counting), 'step by step');
  const stride = Math.max(1, Math.ceil(length / mostStops));
  for (let stop = 1; stop < length; stop += stride) {
    const resumed = bytecodeOutcome(example, (frame) => {
      for (let i = 0; i < stop; i++) {
        const result = step(frame);
        if (result.kind === 'return') return result.value;
      }
      return executeFrame(frame);
    });
    expectSame(resumed, `resumed after ${stop} instructions`);
  }
}

it('language programs do as bytecode what they do natively', { timeout: 3_600_000 }, () => {
  fc.assert(fc.property(languagePrograms, check), runs(100));
});
