import { runBackward } from '../../runtime/autograd/engine.ts';
import { AutogradError } from '../../runtime/errors/errors.ts';
import { InvariantError } from '../../runtime/errors/invariant.ts';
import { withInterceptor } from '../../runtime/ops/core/bind.ts';
import { ProgramBuilder } from '../../runtime/program/builder.ts';
import type { RefusedBackward } from '../../runtime/program/higher-order-gradients.ts';
import type { ValueId } from '../../runtime/program/program.ts';
import { contiguousMeta } from '../../runtime/tensor/meta.ts';
import { fillGradients } from '../regions/fill-gradients.ts';
import { differentiateRegion } from './differentiate.ts';
import type { Differentiated } from './differentiate-again.ts';
import { replay } from './replay.ts';

/**
 * The error that eager backward throws where backward of a program is refused; null: it throws none.
 *
 * Method: that of `differentiate`. The program is replayed, what happened since is done to the replayed graph, and
 * the eager engine runs into its own error.
 */
export function eagerRefusal(
  { forward, needsGrad }: Differentiated,
  { roots, undone, changed }: RefusedBackward,
): AutogradError | null {
  const builder = new ProgramBuilder(() => {
    throw new InvariantError('a tensor with data in a program that is being differentiated');
  });
  return withInterceptor(builder, () => {
    const { tensors } = replay(forward, needsGrad, builder, differentiateRegion);
    const backward = (of: readonly ValueId[]): void => {
      const given = of.map((id) => {
        const tensor = tensors[id]!;
        return { tensor, gradient: builder.input(contiguousMeta(tensor, tensor.device)) };
      });
      runBackward(given, {
        retainGraph: false,
        sink: () => {},
        onNode: (node, gradients) => fillGradients(builder, node, gradients),
      });
    };
    try {
      if (undone.length > 0) backward(undone);
      for (const id of changed) builder.noteWrite(id);
      backward(roots);
    } catch (error) {
      if (error instanceof AutogradError) return error;
      throw error;
    }
    return null;
  });
}
