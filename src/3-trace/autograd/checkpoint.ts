/** `checkpoint(body, …inputs)` in a trace. */

import {
  changedInPlace,
  type Deferred,
  SavedValue,
  withSaveListener,
} from '../../../runtime/autograd/saved-value.ts';
import type { ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { writtenInputs } from '../../../runtime/program/writes.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { RejectedEagerly } from '../state/rejected-eagerly.ts';
import type { Tracer } from '../state/tracer.ts';
import { undefinedVariable, type Variable } from '../variables/variable.ts';

/**
 * The body is followed once, and its ops are marked. Which of their results backward makes again is decided when the
 * program has its backward (`recomputeCheckpoints`).
 */
export function traceCheckpoint(t: Tracer, [body, ...inputs]: readonly Variable[]): Variable {
  if (!body) throw new GraphBreak('throw', 'checkpoint() of nothing');
  if (!inputs.every(({ kind }) => kind === 'tensor' || kind === 'constant')) {
    throw new GraphBreak('framework-call', 'checkpoint() of more than tensors');
  }
  return t.attempt(() => {
    const { builder, effects } = t;
    const [outer, firstOp, changes] = [builder.checkpointed, builder.opCount, effects.changes];
    const run = () => t.execution.callInside(body, undefinedVariable, inputs);
    const given = inputs.flatMap((input) => (input.kind === 'tensor' ? [t.use(input)] : []));
    // What is made again with an outer checkpoint is as it was then.
    const frame = outer === undefined ? new CheckpointFrame(t, given) : null;
    builder.checkpointed ??= builder.checkpointCalls++;
    try {
      const output = frame ? withSaveListener((value) => frame.defer(value), run) : run();
      if (output.kind !== 'tensor') {
        throw new GraphBreak('framework-call', 'checkpoint() of a function that returns no tensor');
      }
      // Eager execution runs the body a second time, and its effects with it.
      const ops = builder.opsFrom(firstOp);
      if (effects.changes > changes || writesOutside(ops)) {
        throw new GraphBreak('framework-call', 'checkpoint() of a function with effects');
      }
      if (frame) {
        frame.watch(readFromOutside(ops));
        const { checkpoints } = t.autograd;
        t.journal.keepList(checkpoints);
        checkpoints.push(frame);
      }
      return output;
    } finally {
      builder.checkpointed = outer;
    }
  });
}

/**
 * One checkpointed call. Eager backward runs the body again on what its tensors are by then: where that isn't what
 * they were, it throws, or computes something else, so the call has to run eagerly.
 */
class CheckpointFrame {
  readonly #tracer: Tracer;
  readonly #versions: (() => boolean)[];
  readonly #switches: number;
  /** Backward will read something that the body has saved: no backward inside the graph has so far. */
  #isAwaited = false;

  constructor(t: Tracer, inputs: readonly Tensor[]) {
    this.#tracer = t;
    this.#versions = inputs.flatMap(({ traced }) =>
      traced ? [changeOf(() => traced.version())] : [],
    );
    this.#switches = t.autograd.switches;
  }

  /** Values that the body reads without being given them. */
  watch(values: readonly ValueId[]): void {
    const { builder } = this.#tracer;
    for (const id of values) this.#versions.push(changeOf(() => builder.versionOf(id)));
  }

  /** For what ops of the body save; a leaf is kept itself, and checked by itself. */
  defer(value: Tensor): Deferred | null {
    if (!value.traced || (value.requiresGrad && value.isLeaf)) return null;
    this.#isAwaited = true;
    const saved = withSaveListener(null, () => new SavedValue(value, 'value'));
    return {
      get: () => {
        this.#isAwaited = false;
        if (this.#isStale) throw changed();
        return saved;
      },
      release: () => saved.release(),
    };
  }

  /** At the end of the graph: a backward that comes later would throw, or compute something else. */
  expectAsItWas(): void {
    if (this.#isAwaited && this.#isStale) throw new RejectedEagerly(changed());
  }

  get #isStale(): boolean {
    return (
      this.#tracer.autograd.switches !== this.#switches ||
      this.#versions.some((isChanged) => isChanged())
    );
  }
}

function changeOf(version: () => number): () => boolean {
  const before = version();
  return () => version() !== before;
}

const changed = () => changedInPlace('checkpoint', 'a tensor that its function reads');

/** Values that ops read and have not made. */
function readFromOutside(ops: readonly ProgramOp[]): ValueId[] {
  const made = new Set(ops.flatMap(({ outputs }) => outputs));
  return [...new Set(ops.flatMap(({ inputs }) => inputs))].filter((id) => !made.has(id));
}

/** Whether ops write to memory that others have made. */
function writesOutside(ops: readonly ProgramOp[]): boolean {
  return writtenInputs({ inputs: readFromOutside(ops), ops }).length > 0;
}
