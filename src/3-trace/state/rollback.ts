import { sourceKey } from '../../guards/source-key.ts';
import type { TensorInputs } from './tensor-inputs.ts';
import type { Tracer } from './tracer.ts';

/**
 * Returns a function that restores a trace's program, tape, inputs, frames and registers to their current state.
 */
export function rollback(t: Tracer, inputs: TensorInputs): () => void {
  const frames = [...t.frames];
  const pcs = frames.map(({ pc }) => pc);
  // Paths traced in an attempt belong to the top frame, and so do the registers of their results.
  const { top } = t;
  const [registers, last] = [[...top.registers], top.last];
  const { surroundings } = t;
  const { builder, tape } = surroundings;
  const program = builder.checkpoint();
  const count = inputs.list.length;
  const calls = tape.length;
  return () => {
    builder.rollback(program);
    surroundings.forget?.(program.values);
    tape.length = calls;
    if (t.isInRegion) inputs.keep();
    else inputs.list.length = count;
    t.frames.splice(0, t.frames.length, ...frames);
    for (const [i, frame] of frames.entries()) frame.pc = pcs[i]!;
    top.registers.splice(0, top.registers.length, ...registers);
    top.last = last;
  };
}

/** Returns a function that restores the guards and sizes that a trace relies on to their current state. */
export function factsRollback({ guards, numbers, sizes }: Tracer): () => void {
  const count = guards.size;
  const restoreSizes = sizes.checkpoint();
  const dependencies = numbers.scalars.dependencies();
  return () => {
    restoreSizes();
    numbers.scalars.dependOn(dependencies);
    // Scalar inputs remain, and so does the guard that each is a number.
    const inputs = new Set(numbers.sources.map(sourceKey));
    for (const [key, guard] of [...guards].slice(count)) {
      if (guard.kind !== 'typeof' || !inputs.has(sourceKey(guard.source))) guards.delete(key);
    }
  };
}
