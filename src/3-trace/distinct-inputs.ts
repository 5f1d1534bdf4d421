import { gradEnabled } from '../../runtime/autograd/grad-mode.ts';
import type { Program, ValueId } from '../../runtime/program/program.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import type { Guard } from '../guards/guard.ts';
import type { Source } from '../guards/source.ts';

/** An input of a trace: where it comes from, and its value in the program. */
export interface TraceInput {
  readonly source: Source;
  readonly tensor: Tensor;
}

/**
 * Of an input that several ops read, gradients come in several parts. Were it the same tensor as another
 * input, eager execution would sum the parts of both in another order, which shows in the last bit.
 */
export function distinctInputs(
  inputs: readonly TraceInput[],
  { inputs: ids, ops }: Program,
): Guard[] {
  if (!gradEnabled()) return [];
  const differentiable = inputs.flatMap(({ source, tensor }, i) =>
    tensor.requiresGrad ? [{ source, id: ids[i]! }] : [],
  );
  const uses = new Map<ValueId, number>();
  for (const op of ops) for (const id of op.inputs) uses.set(id, (uses.get(id) ?? 0) + 1);
  const multiple = differentiable.filter(({ id }) => {
    return differentiable.length > 1 && (uses.get(id) ?? 0) > 1;
  });
  return multiple.map(({ source, id }) => {
    const others = differentiable.filter((other) => other.id !== id);
    return { kind: 'distinct', source, others: others.map((other) => other.source) };
  });
}
