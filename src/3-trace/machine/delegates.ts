/** `yield*` in a generator created in the trace, which yields the values of another iterator. */

import { GraphBreak } from '../../traces/graph-break.ts';
import type { InstructionOf } from '../../vm/bytecode/instructions.ts';
import type { Tracer } from '../state/tracer.ts';
import { truthiness } from '../state/value-guards.ts';
import { nextOf, type Step } from '../values/generators.ts';
import { advance, iteratorResult, openIteration } from '../values/iterators.ts';
import { readProperty } from '../values/properties.ts';
import type { IteratorRecordVariable } from '../variables/iterator-variables.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import { undefinedVariable, type Variable } from '../variables/variable.ts';

/**
 * Takes the next value of the delegate iterator and returns it for yielding. At its end, returns undefined and
 * continues after the instruction.
 */
export function stepDelegate(
  t: Tracer,
  frame: TraceFrame,
  { dst, src }: InstructionOf<'yield'>,
): Variable | undefined {
  if (t.control.plans.has('break', frame.closure.code, frame.pc)) {
    throw new GraphBreak('unsupported-value', 'a generator delegates to another one');
  }
  return t.attempt(() => {
    const { pc, delegate } = frame;
    const before = frame.registers[dst];
    t.journal.note(() => {
      Object.assign(frame, { pc, delegate });
      frame.registers[dst] = before;
    });
    const iteration = delegate?.iteration ?? openIteration(t, frame.registers[src]!);
    const { value, done } = nextResult(t, iteration, delegate?.sent ?? undefinedVariable);
    frame.delegate = done ? null : { iteration, sent: undefinedVariable };
    if (!done) return value;
    frame.registers[dst] = value;
    frame.pc++;
    return undefined;
  });
}

function nextResult(t: Tracer, iteration: IteratorRecordVariable, sent: Variable): Step {
  const { iterator, next } = iteration;
  if (iterator.kind === 'generator') return nextOf(t, iterator, sent);
  if (iterator.kind === 'iterator') {
    const value = advance(t, iteration);
    return { value: value ?? undefinedVariable, done: value === null };
  }
  const result = iteratorResult(t.execution.callInside(next!, iterator, [sent]));
  const done = truthiness(t, readProperty(t, result, 'done'));
  return { value: readProperty(t, result, 'value'), done };
}
