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
 * Traces the body once and marks its ops. Which results backward recomputes is decided when the program gets its
 * backward (`recomputeCheckpoints`).
 */
export function traceCheckpoint(t: Tracer, [body, ...inputs]: readonly Variable[]): Variable {
  if (!body) throw new GraphBreak('throw', 'checkpoint() without arguments');
  if (!inputs.every(({ kind }) => kind === 'tensor' || kind === 'constant')) {
    throw new GraphBreak('framework-call', 'checkpoint() with arguments other than tensors');
  }
  return t.attempt(() => {
    const { builder, effects } = t;
    const [outer, firstOp, changes] = [builder.checkpointed, builder.opCount, effects.changes];
    const run = () => t.execution.callInside(body, undefinedVariable, inputs);
    const given = inputs.flatMap((input) => (input.kind === 'tensor' ? [t.use(input)] : []));
    // A nested checkpoint needs no frame: when the outer one is recomputed, its tensors are as they were.
    const frame = outer === undefined ? new CheckpointFrame(t, given) : null;
    builder.checkpointed ??= builder.checkpointCalls++;
    try {
      const output = frame ? withSaveListener((value) => frame.defer(value), run) : run();
      if (output.kind !== 'tensor') {
        throw new GraphBreak('framework-call', 'checkpoint() of a function that returns no tensor');
      }
      // Eager execution runs the body a second time and repeats its effects.
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
 * A checkpointed call. Eager backward reruns the body on the current values of its tensors. If these have changed,
 * eager execution throws or computes something else, so the call must run eagerly.
 */
class CheckpointFrame {
  readonly #tracer: Tracer;
  readonly #versions: (() => boolean)[];
  readonly #switches: number;
  /** True if the body has saved a value that no backward inside the graph has read yet. */
  #isAwaited = false;

  constructor(t: Tracer, inputs: readonly Tensor[]) {
    this.#tracer = t;
    this.#versions = inputs.flatMap(({ traced }) =>
      traced ? [changeOf(() => traced.version())] : [],
    );
    this.#switches = t.autograd.switches;
  }

  /** Watches values that the body reads without receiving them as arguments. */
  watch(values: readonly ValueId[]): void {
    const { builder } = this.#tracer;
    for (const id of values) this.#versions.push(changeOf(() => builder.versionOf(id)));
  }

  /** Defers values that ops of the body save. A leaf is saved and checked on its own. */
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

  /** Called at the end of the graph. Throws if a later backward would throw or compute something else. */
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

/** Returns the values that the ops read but didn't create. */
function readFromOutside(ops: readonly ProgramOp[]): ValueId[] {
  const made = new Set(ops.flatMap(({ outputs }) => outputs));
  return [...new Set(ops.flatMap(({ inputs }) => inputs))].filter((id) => !made.has(id));
}

/** Returns whether the ops write to memory that they didn't create. */
function writesOutside(ops: readonly ProgramOp[]): boolean {
  return writtenInputs({ inputs: readFromOutside(ops), ops }).length > 0;
}
