/** Generators of captured functions: their frames are traced from one `yield` to the next. */

import { GraphBreak } from '../../traces/graph-break.ts';
import type { InstructionOf } from '../../vm/bytecode/instructions.ts';
import { handlerAt, Raised } from '../state/exceptions.ts';
import type { Tracer } from '../state/tracer.ts';
import type { GeneratorVariable } from '../variables/iterator-variables.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import { undefinedVariable, type Variable } from '../variables/variable.ts';

/** Ends the call of a generator function once its parameters are bound. */
export function startGenerator(t: Tracer, frame: TraceFrame): GeneratorVariable {
  frame.pc++;
  return { kind: 'generator', frame, state: 'start', madeIn: t.builder };
}

/** An iterator result. */
export interface Step {
  readonly value: Variable;
  readonly done: boolean;
}

/** `generator.next(sent)`. A graph break inside rolls the call back; the generator then continues natively. */
export function nextOf(t: Tracer, generator: GeneratorVariable, sent: Variable): Step {
  const { state, frame } = generator;
  if (state === 'done') return { value: undefinedVariable, done: true };
  return continueWith(t, generator, () => {
    if (state !== 'yield') return;
    if (frame.delegate) {
      frame.delegate = { ...frame.delegate, sent };
      return;
    }
    frame.registers[yieldAt(frame).dst] = sent;
    frame.pc++;
  });
}

/** `generator.return(value)`. At a `yield`, enclosing `finally` blocks run first. */
export function returnOf(t: Tracer, generator: GeneratorVariable, value: Variable): Step {
  const { state, frame } = generator;
  if (state === 'start' && generator.helper) {
    throw new GraphBreak('native-call', 'an iterator that has not begun closes another one');
  }
  if (state !== 'yield') {
    setState(t, generator, 'done');
    return { value, done: true };
  }
  const inner = innerOf(frame);
  const last = inner ? returnOf(t, inner, value) : { value, done: true };
  if (!last.done) return last;
  return continueWith(t, generator, () => {
    const { dst, target } = yieldAt(frame);
    frame.registers[dst] = last.value;
    frame.pc = target;
    frame.delegate = null;
  });
}

/**
 * `generator.throw(error)`: continues at the handler around the `yield`. Without a handler, the generator ends.
 */
export function throwInto(t: Tracer, generator: GeneratorVariable, error: Variable): Step {
  const { state, frame } = generator;
  if (state === 'running') throw new GraphBreak('throw', 'the generator is running');
  if (frame.delegate) throw new GraphBreak('native-call', 'an exception enters a yield*');
  const handler = state === 'yield' ? handlerAt(frame, frame.pc) : undefined;
  if (!handler) {
    setState(t, generator, 'done');
    throw new Raised(error, 'thrown into a generator', true);
  }
  return continueWith(t, generator, () => {
    frame.registers[handler.error] = error;
    frame.pc = handler.target;
  });
}

/** Returns the generator that a `yield*` delegates to; undefined for other iterators. */
function innerOf({ delegate }: TraceFrame): GeneratorVariable | undefined {
  const iterator = delegate?.iteration.iterator;
  if (iterator === undefined || iterator.kind === 'iterator') return undefined;
  if (iterator.kind === 'generator') return iterator;
  throw new GraphBreak('native-call', 'an iterator in a yield* is told to return');
}

function continueWith(t: Tracer, generator: GeneratorVariable, enter: () => void): Step {
  const { frame } = generator;
  if (generator.state === 'running') throw new GraphBreak('throw', 'the generator is running');
  return t.attempt(() => {
    const [registers, { pc, delegate = null }] = [[...frame.registers], frame];
    t.journal.note(() => {
      frame.registers.splice(0, frame.registers.length, ...registers);
      Object.assign(frame, { pc, delegate });
    });
    enter();
    setState(t, generator, 'running');
    const value = t.execution.toReturn(() => void t.push(frame));
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
  t.journal.set(generator, 'state', state);
}

function yieldAt({ closure, pc }: TraceFrame): InstructionOf<'yield'> {
  return closure.code.instructions[pc] as InstructionOf<'yield'>;
}
