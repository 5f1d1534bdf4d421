import { placeOf } from '../../runtime/autograd/place.ts';
import { runBackward } from '../../runtime/backward/engine.ts';
import { contiguousMeta } from '../../runtime/device/tensor-meta.ts';
import { AutogradError } from '../../runtime/errors/errors.ts';
import { withInterceptor } from '../../runtime/ops/core/bind.ts';
import type {
  BackwardByNumbers,
  RejectedBackward,
} from '../../runtime/program/higher-order-gradients.ts';
import type { ValueId } from '../../runtime/program/program.ts';
import { fillGradients } from '../regions/fill-gradients.ts';
import { differentiateRegion } from './differentiate.ts';
import type { Differentiated } from './differentiate-again.ts';
import { replay, replayBuilder, targetsOf } from './replay.ts';

/** A rejected backward, with the changed values in the numbering of the replayed program. */
interface BackwardToRefuse extends BackwardByNumbers, Pick<RejectedBackward, 'earlier'> {
  readonly changed: readonly ValueId[];
}

/**
 * Returns the error that eager backward would throw where the backward of a program is rejected; null if it would
 * throw none.
 *
 * Method: as in `differentiate`. The program is replayed, later changes are applied to the replayed graph, and the
 * eager engine runs into its own error.
 */
export function eagerRefusal(
  { forward, needsGrad, differentiable, leafOutputs }: Differentiated,
  { roots, wanted, earlier, changed }: BackwardToRefuse,
): AutogradError | null {
  const builder = replayBuilder();
  return withInterceptor(builder, () => {
    const { tensors, leaves } = replay(forward, needsGrad, builder, differentiateRegion);
    const targets = targetsOf(forward, tensors, leaves, leafOutputs);
    const numbered = (number: number) => {
      const count = differentiable.length;
      return tensors[number < count ? forward.outputs[number]! : number - count]!;
    };
    const backward = ({ roots, wanted }: BackwardByNumbers, retainGraph = false): void => {
      const given = roots.map((number) => {
        const tensor = numbered(number);
        return { tensor, gradient: builder.input(contiguousMeta(tensor, tensor.device)) };
      });
      runBackward(given, {
        retainGraph,
        ...(wanted && {
          wanted: [...wanted.targets.map((i) => targets[i]!), ...wanted.values.map(numbered)].map(
            placeOf,
          ),
        }),
        sink: () => {},
        onNode: (node, gradients) => fillGradients(builder, node, gradients),
      });
    };
    try {
      for (const each of earlier) backward(each);
      // Eager backward visits everything below one result before it visits the next result.
      for (const root of roots) backward({ roots: [root], wanted }, true);
      for (const id of changed) builder.memory.noteWrite(id);
      backward({ roots, wanted });
    } catch (error) {
      if (error instanceof AutogradError) return error;
      throw error;
    }
    return null;
  });
}
