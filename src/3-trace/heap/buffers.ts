/** Memory created in the trace: its `ArrayBuffer`, and the typed arrays and DataViews that share it. */

import type { ProgramBuilder } from '../../../runtime/program/builder.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { Tracer } from '../state/tracer.ts';
import type { NewHostVariable } from '../variables/variable.ts';

interface Memory {
  readonly variable: NewHostVariable;
  readonly madeIn: ProgramBuilder;
}

/** Memory of buffers that user code can reach. Any other buffer belongs to a single typed array. */
const reached = new WeakMap<ArrayBufferLike, Memory>();

/** Returns the variable for a buffer created while `madeIn` was traced. */
export function bufferVariable(buffer: ArrayBufferLike, madeIn: ProgramBuilder): NewHostVariable {
  const known = reached.get(buffer);
  if (known) return known.variable;
  const variable = { kind: 'newHost', type: 'ArrayBuffer', value: buffer } as const;
  reached.set(buffer, { variable, madeIn });
  return variable;
}

export const reachedBuffer = (buffer: ArrayBufferLike): NewHostVariable | undefined =>
  reached.get(buffer)?.variable;

export const madeBufferIn = (t: Tracer, buffer: ArrayBufferLike): ProgramBuilder =>
  reached.get(buffer)?.madeIn ?? t.builder;

/**
 * Snapshots the bytes before they change, so that the change can be rolled back. A branch or loop may only change
 * memory that it has created itself, because bytes are not merged between paths.
 */
export function keepBytes(t: Tracer, view: ArrayBufferView, madeIn: ProgramBuilder): void {
  if (t.isInRegion) {
    if (madeIn === t.builder) return;
    throw new GraphBreak('branch-effect', 'a branch or loop changes a typed array');
  }
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  const before = bytes.slice();
  t.journal.note(() => bytes.set(before));
}
