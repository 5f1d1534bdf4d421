/** Memory created in the trace: its `ArrayBuffer`, and the typed arrays and DataViews that share it. */

import type { ProgramBuilder } from '../../../runtime/program/builder.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { Tracer } from '../state/tracer.ts';
import type { NewHostVariable } from '../variables/variable.ts';

interface Memory {
  readonly variable: NewHostVariable;
  readonly madeIn: ProgramBuilder;
}

/** The memory of buffers that the code may reach; buffers of other typed arrays belong to these alone. */
const reached = new WeakMap<ArrayBufferLike, Memory>();

/** The variable of a buffer that was made while `madeIn` was traced. */
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
 * Before a change of these bytes, which is rolled back with the attempt that it belongs to. A branch or loop changes only
 * memory that it has made: paths can't be told apart by the numbers of other memory.
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
