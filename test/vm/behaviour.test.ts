import { describe, expect, it } from 'vitest';
import type { Frame } from '../../src/vm/bytecode/frame.ts';
import { interpreterOf } from '../../src/vm/interpreter/interpret.ts';
import { compile, executeFrame } from '../../src/vm/machine/machine.ts';
import { step } from '../../src/vm/machine/run-frames.ts';
import { controlFlow } from './examples/control-flow.ts';
import { destructuring } from './examples/destructuring.ts';
import { errors } from './examples/errors.ts';
import { exceptions } from './examples/exceptions.ts';
import { functions } from './examples/functions.ts';
import { objects } from './examples/objects.ts';
import { operators } from './examples/operators.ts';
import { run } from './run-frame.ts';
import { bytecodeOutcome, nativeOutcome } from './world.ts';

const groups = { operators, controlFlow, functions, destructuring, errors, exceptions, objects };

/** Interprets `steps` instructions, then goes on in the machine. */
function switchAfter(steps: number, seen: { finished: boolean }): (frame: Frame) => unknown {
  return (frame) => {
    for (let i = 0; i < steps; i++) {
      const result = step(frame);
      if (result.kind === 'return') return result.value;
    }
    seen.finished = false;
    return executeFrame(frame);
  };
}

const inSwitch = (frame: Frame): unknown =>
  compile(frame.closure.code, [frame.pc], 'switch')(frame);

for (const [group, examples] of Object.entries(groups)) {
  describe(group, () => {
    for (const example of examples) {
      it(example.name, () => {
        const expected = nativeOutcome(example);
        expect(bytecodeOutcome(example, run), 'interpreter').toBe(expected);
        expect(bytecodeOutcome(example, executeFrame), 'machine').toBe(expected);
        expect(bytecodeOutcome(example, inSwitch), 'switch').toBe(expected);
        expect(
          bytecodeOutcome(example, (frame) => interpreterOf(frame.closure.code, () => run)(frame)),
          'interpreter alone',
        ).toBe(expected);
        for (let steps = 1; ; steps++) {
          const seen = { finished: true };
          const outcome = bytecodeOutcome(example, switchAfter(steps, seen));
          expect(outcome, `machine after ${steps} instructions`).toBe(expected);
          if (seen.finished || steps > 400) break;
        }
      });
    }
  });
}
