/** `checkpoint(body, …inputs)` in a trace. */

import type { ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { writtenInputs } from '../../../runtime/program/writes.ts';
import type { GradNode } from '../../../runtime/tensor/grad-node.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { assignableBy, isSameState } from '../control-flow/awaited-checkpoints.ts';
import type { Tracer } from '../state/tracer.ts';
import { specialized } from '../variables/unions.ts';
import { prototypeOf, type TensorVariable, type Variable } from '../variables/variable.ts';
import { CheckpointFrame, frameAround } from './checkpoint-frame.ts';
import { siteOf } from './hooks.ts';

/**
 * Traces the body and marks its ops. Which results backward recomputes is decided when the program gets its backward
 * (`recomputeCheckpoints`). If the body writes to tensors that it didn't create, such as running statistics, a backward
 * inside the trace traces it again, as eager backward reruns it.
 */
export function traceCheckpoint(t: Tracer, [body, ...inputs]: readonly Variable[]): Variable {
  if (!body) throw new GraphBreak('throw', 'checkpoint() without arguments');
  if (!inputs.every(({ kind }) => kind === 'tensor' || kind === 'constant')) {
    throw new GraphBreak('framework-call', 'checkpoint() with arguments other than tensors');
  }
  return t.attempt(() => {
    const { builder, effects } = t;
    const [marked, outer] = [builder.checkpointed, frameAround(t)];
    const [firstOp, changes, seed] = [builder.opCount, effects.changes, t.random.reseeded];
    const frame = new CheckpointFrame(t, { body, inputs, outer });
    if (!outer) builder.checkpointed = builder.checkpointCalls++;
    try {
      const before = assignableBy(body);
      const output = frame.run();
      const assigns = !isSameState(assignableBy(body), before);
      const results = resultsIn(output);
      if (assigns || effects.changes > changes || t.random.reseeded !== seed) throw hasEffects();
      if (outer) return output;
      const ops = builder.opsFrom(firstOp);
      const read = readFromOutside(ops);
      const written = writtenInputs({ inputs: read, ops }).map((index) => read[index]!);
      if (written.some((id) => mayHaveHistory(t, id))) throw hasEffects();
      if (written.length > 0) rerunInBackward(t, frame, results);
      else frame.expectUnchanged(read, ops, nodesOf(t, results));
      return output;
    } finally {
      builder.checkpointed = marked;
    }
  });
}

/** Returns the tensors of a result: a tensor, or an array or plain object of tensors that the body created. */
function resultsIn(output: Variable): readonly TensorVariable[] {
  const result = specialized(output);
  if (result.kind === 'tensor') return [result];
  const isArray =
    result.kind === 'newArray' && !result.growable && !result.own && !result.isArguments;
  const isObject =
    result.kind === 'newObject' && !result.order && !result.traits && !prototypeOf(result);
  const parts = isArray ? result.elements : isObject ? [...result.entries.values()] : [];
  const tensors = parts.filter((part): part is TensorVariable => part.kind === 'tensor');
  if (parts.length > 0 && tensors.length === parts.length) return tensors;
  throw new GraphBreak(
    'framework-call',
    'checkpoint() of a function that returns neither a tensor nor an array or object of tensors',
  );
}

/** Only this trace knows what backward writes: if the caller requests the gradient, the call runs natively. */
function rerunInBackward(
  t: Tracer,
  frame: CheckpointFrame,
  results: readonly TensorVariable[],
): void {
  // The positions of backward and of the second run's writes must be known.
  if (t.isInRegion) throw hasEffects();
  const nodes = nodesOf(t, results);
  if (nodes.length === 0) return;
  const site = siteOf(
    t,
    'checkpoint() of a function with effects, whose gradient is asked for later',
  );
  for (const node of nodes) t.autograd.watched.set(node, site);
  t.autograd.callsUser = true;
  frame.rerunInBackward();
}

function nodesOf(t: Tracer, results: readonly TensorVariable[]): readonly GradNode[] {
  return results.flatMap((result) => t.use(result).gradEdge?.node ?? []);
}

/** Whether a gradient of the written tensor may flow into the call past its result. */
function mayHaveHistory(t: Tracer, written: ValueId): boolean {
  const input = t.inputs.find(({ tensor }) => tensor.traced?.value === written);
  return !input || input.tensor.requiresGrad;
}

const hasEffects = () =>
  new GraphBreak(
    'framework-call',
    'checkpoint() of a function with effects, such as a counter, which backward repeats (move them out of it)',
  );

/** Returns the values that the ops read but didn't create. */
function readFromOutside(ops: readonly ProgramOp[]): ValueId[] {
  const defined = new Set(ops.flatMap(({ outputs }) => outputs));
  return [...new Set(ops.flatMap(({ inputs }) => inputs))].filter((id) => !defined.has(id));
}
