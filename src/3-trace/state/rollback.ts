import type { TensorInputs } from './tensor-inputs.ts';
import type { Tracer } from './tracer.ts';

/**
 * Returns a function that restores a trace's program, tape, inputs, frames and registers to their current state.
 */
export function rollback(t: Tracer, inputs: TensorInputs): () => void {
  const frames = [...t.frames];
  const pcs = frames.map(({ pc }) => pc);
  // Paths that an attempt traces belong to the top frame, and so do the registers of their results.
  const { top } = t;
  const [registers, last] = [[...top.registers], top.last];
  const { builder, tape } = t.surroundings;
  const program = builder.checkpoint();
  const count = inputs.list.length;
  const calls = tape.length;
  return () => {
    builder.rollback(program);
    tape.length = calls;
    if (t.isInRegion) inputs.keep();
    else inputs.list.length = count;
    t.frames.splice(0, t.frames.length, ...frames);
    for (const [i, frame] of frames.entries()) frame.pc = pcs[i]!;
    top.registers.splice(0, top.registers.length, ...registers);
    top.last = last;
  };
}
