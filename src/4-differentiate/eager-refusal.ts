import { edgeOf } from '../../runtime/autograd/gradient-edge.ts';
import { runBackward } from '../../runtime/backward/engine.ts';
import { contiguousMeta } from '../../runtime/device/tensor-meta.ts';
import { AutogradError } from '../../runtime/errors/errors.ts';
import { withInterceptor } from '../../runtime/ops/core/bind.ts';
import type { ProgramBuilder } from '../../runtime/program/builder.ts';
import type {
  BackwardByNumbers,
  IsOpen,
  RejectedBackward,
} from '../../runtime/program/higher-order-gradients.ts';
import type { ValueId } from '../../runtime/program/program.ts';
import { fillGradients } from '../regions/fill-gradients.ts';
import { differentiateRegion } from './differentiate.ts';
import type { Differentiated } from './differentiate-again.ts';
import { replay, replayBuilder, targetsOf } from './replay.ts';

/** A rejected backward, with the changed values as ids of the replayed program. */
interface BackwardToRefuse extends BackwardByNumbers, Pick<RejectedBackward, 'earlier'> {
  readonly changed: readonly ValueId[];
}

/**
 * Returns the error that eager backward would throw where the backward of a program is rejected; null if it would
 * throw none.
 *
 * Method: as in `differentiate`. The program is replayed, later changes are applied to the replayed graph, and the
 * eager engine throws its own error.
 */
export function eagerRefusal(
  differentiated: Differentiated,
  { roots, requested, earlier, changed }: BackwardToRefuse,
): AutogradError | null {
  return withReplayed(differentiated, (backward, builder) => {
    try {
      for (const each of earlier) backward(each);
      // Eager backward visits everything below one result before it visits the next result.
      for (const root of roots) backward({ roots: [root], requested }, true);
      for (const id of changed) builder.memory.noteWrite(id);
      backward({ roots, requested });
    } catch (error) {
      if (error instanceof AutogradError) return error;
      throw error;
    }
    return null;
  });
}

/**
 * Returns which gradients eager backward still finds after earlier ones. `reached`: the targets that have a gradient.
 */
export function stillOpen(
  differentiated: Differentiated & { readonly reached: readonly boolean[] },
  earlier: readonly BackwardByNumbers[],
): IsOpen {
  const open = withReplayed(differentiated, (backward) => {
    for (const each of earlier) backward(each);
    const targets = [...differentiated.reached.keys()].filter((i) => differentiated.reached[i]);
    return differentiated.differentiable.map((isGiven, output) => {
      return targets.filter(
        (i) =>
          isGiven &&
          succeeds(() => {
            const requested = { targets: [i], values: [] };
            backward({ roots: [output], requested }, true);
          }),
      );
    });
  });
  return (output, target) => open[output]!.includes(target);
}

function succeeds(body: () => void): boolean {
  try {
    body();
    return true;
  } catch (error) {
    if (error instanceof AutogradError) return false;
    throw error;
  }
}

type Backward = (by: BackwardByNumbers, retainGraph?: boolean) => void;

function withReplayed<T>(
  { forward, needsGrad, differentiable, leafOutputs }: Differentiated,
  body: (backward: Backward, builder: ProgramBuilder) => T,
): T {
  const builder = replayBuilder();
  return withInterceptor(builder, () => {
    const { tensors, leaves } = replay(forward, needsGrad, builder, differentiateRegion);
    const targets = targetsOf(forward, tensors, leaves, leafOutputs);
    const numbered = (number: number) => {
      const count = differentiable.length;
      return tensors[number < count ? forward.outputs[number]! : number - count]!;
    };
    return body(({ roots, requested }, retainGraph = false) => {
      const given = roots.map((number) => {
        const tensor = numbered(number);
        return { tensor, gradient: builder.input(contiguousMeta(tensor, tensor.device)) };
      });
      runBackward(given, {
        retainGraph,
        ...(requested && {
          inputs: [
            ...requested.targets.map((i) => targets[i]!),
            ...requested.values.map(numbered),
          ].map(edgeOf),
        }),
        sink: () => {},
        onNode: (node, gradients) => fillGradients(builder, node, gradients),
      });
    }, builder);
  });
}
