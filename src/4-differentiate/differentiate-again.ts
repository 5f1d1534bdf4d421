import { edgeOf } from '../../runtime/autograd/gradient-edge.ts';
import { runBackward } from '../../runtime/backward/engine.ts';
import { contiguousMeta } from '../../runtime/device/tensor-meta.ts';
import { withInterceptor } from '../../runtime/ops/core/bind.ts';
import type {
  GivenGradient,
  GradientRequest,
} from '../../runtime/program/higher-order-gradients.ts';
import type { Program, ValueId } from '../../runtime/program/program.ts';
import { requireGrad } from '../../runtime/tensor/require-grad.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { fillGradients } from '../regions/fill-gradients.ts';
import { differentiateRegion } from './differentiate.ts';
import { markOutputs } from './mark-outputs.ts';
import { replay, replayBuilder, targetsOf } from './replay.ts';

/** A program that was differentiated once. */
export interface Differentiated {
  readonly forward: Program;
  readonly needsGrad: readonly boolean[];
  /** Whether each forward output may have a gradient. */
  readonly differentiable: readonly boolean[];
  /** Forward outputs that are leaves created by the program. */
  readonly leafOutputs: readonly number[];
}

export interface RecordedJoint {
  /** Forward, then backward with a history. */
  readonly program: Program;
  readonly forwardOps: number;
  /** Values of forward that a gradient flows through. */
  readonly flows: ReadonlySet<ValueId>;
  /** Ids of the incoming gradients: of outputs, of intermediate values, and of partial sums. */
  readonly given: readonly ValueId[];
  /** Gradients of the inputs, then of leaves created by the program. */
  readonly gradInputs: readonly (ValueId | null)[];
}

/**
 * In: a forward program, and what is requested of its backward. Out: the joint program whose backward part is
 * recorded like any other ops, so that it can be differentiated. Forward keeps its ids.
 *
 * Method: as in `differentiate`, with `createGraph`. An incoming gradient of an intermediate value precedes
 * contributions from forward's own ops: in eager execution, younger nodes deliver it.
 */
export function differentiateAgain(
  { forward, needsGrad, differentiable, leafOutputs }: Differentiated,
  request: GradientRequest,
): RecordedJoint {
  const builder = replayBuilder();
  return withInterceptor(builder, () => {
    const replayed = replay(forward, needsGrad, builder, differentiateRegion);
    const { tensors, positions, leaves } = replayed;
    const forwardOps = builder.opCount;
    const outputs = forward.outputs.map((id) => tensors[id]!);
    const targets = targetsOf(forward, tensors, leaves, leafOutputs);
    const rootsOf = (gradients: readonly GivenGradient[], tensorOf: (of: number) => Tensor) =>
      gradients.map(({ of, recorded }) => {
        const tensor = tensorOf(of);
        const gradient = builder.input(contiguousMeta(tensor, tensor.device));
        return { tensor, gradient: requireGrad(gradient, recorded) };
      });
    const roots = [
      ...rootsOf(request.outputs, (i) => outputs[i]!),
      ...rootsOf(request.values, (id) => tensors[id]!),
      ...rootsOf(request.earlier, (i) => targets[i]!),
    ];
    const given = roots.map(({ gradient }) => builder.valueOf(gradient));
    if (request.watched) {
      const seeds: (Tensor | null)[] = outputs.map(() => null);
      for (const [k, { of }] of request.outputs.entries()) seeds[of] = roots[k]!.gradient;
      markOutputs(outputs, seeds, builder, (i) => differentiable[i]!);
    }
    const found = new Map<Tensor, ValueId>();
    const ofResults: ValueId[] = [];
    runBackward(roots, {
      retainGraph: true,
      createGraph: request.recorded,
      ...(request.requested && {
        inputs: [
          ...request.requested.targets.map((i) => targets[i]!),
          ...request.requested.outputs.map((i) => outputs[i]!),
        ].map(edgeOf),
      }),
      sink: (edge, gradient) => {
        const id = builder.valueOf(gradient);
        if ('leaf' in edge) found.set(edge.leaf, id);
        else ofResults.push(id);
      },
      onNode: (node, gradients) => {
        builder.at = positions.get(node);
        fillGradients(builder, node, gradients);
      },
    });
    const gradInputs = targets.map((leaf) => found.get(leaf) ?? null);
    const flows = tensors.flatMap((tensor, id) => (tensor.requiresGrad ? [id as ValueId] : []));
    return {
      program: builder.finish([...gradInputs.filter((id) => id !== null), ...ofResults]),
      forwardOps,
      flows: new Set(flows),
      given,
      gradInputs,
    };
  });
}
