/** Generators whose function has source: their frames are followed from one `yield` to the next. */

import type { InstructionOf } from '../bytecode/instructions.ts';
import { GraphBreak } from '../traces/graph-break.ts';
import type { GeneratorVariable } from './iterator-variables.ts';
import type { TraceFrame } from './trace-frame.ts';
import type { Tracer } from './tracer.ts';
import { undefinedVariable, type Variable } from './variable.ts';

/** The call of a generator function ends where its parameters are there. */
export function startGenerator(frame: TraceFrame): GeneratorVariable {
  frame.pc++;
  return { kind: 'generator', frame, state: 'start' };
}

/** What `next` answers. */
export interface Step {
  readonly value: Variable;
  readonly done: boolean;
}

/** `generator.next(sent)`. A break inside takes it back: then the generator goes on natively. */
export function nextOf(t: Tracer, generator: GeneratorVariable, sent: Variable): Step {
  const { state, frame } = generator;
  if (state === 'done') return { value: undefinedVariable, done: true };
  return goOn(t, generator, () => {
    if (state !== 'yield') return;
    frame.registers[yieldAt(frame).dst] = sent;
    frame.pc++;
  });
}

/** `generator.return(value)`: at a `yield`, what `finally` blocks do comes first. */
export function returnOf(t: Tracer, generator: GeneratorVariable, value: Variable): Step {
  const { state, frame } = generator;
  if (state !== 'yield') {
    setState(t, generator, 'done');
    return { value, done: true };
  }
  return goOn(t, generator, () => {
    const { dst, target } = yieldAt(frame);
    frame.registers[dst] = value;
    frame.pc = target;
  });
}

function goOn(t: Tracer, generator: GeneratorVariable, enter: () => void): Step {
  const { frame } = generator;
  if (generator.state === 'running') throw new GraphBreak('throw', 'the generator is running');
  return t.attempt(() => {
    const [registers, { pc }] = [[...frame.registers], frame];
    t.journal.note(() => {
      frame.registers.splice(0, frame.registers.length, ...registers);
      frame.pc = pc;
    });
    enter();
    setState(t, generator, 'running');
    const depth = t.frames.length;
    const caller = t.top;
    t.floor = depth;
    t.push(frame);
    // The caller stands behind its instruction, as frames that wait do.
    caller.pc++;
    const value = t.execution.runAbove(depth);
    caller.pc--;
    const done = frame.closure.code.instructions[frame.pc]!.op !== 'yield';
    setState(t, generator, done ? 'done' : 'yield');
    return { value, done };
  });
}

function setState(
  t: Tracer,
  generator: GeneratorVariable,
  state: GeneratorVariable['state'],
): void {
  const before = generator.state;
  t.journal.note(() => {
    generator.state = before;
  });
  generator.state = state;
}

function yieldAt({ closure, pc }: TraceFrame): InstructionOf<'yield'> {
  return closure.code.instructions[pc] as InstructionOf<'yield'>;
}
