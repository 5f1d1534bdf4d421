import { withInterceptor } from '../../runtime/ops/core/bind.ts';
import type { GradientContribution } from '../../runtime/program/program.ts';
import { allArrivals } from './arrivals.ts';
import { differentiateRegion } from './differentiate.ts';
import type { Differentiated } from './differentiate-again.ts';
import { replay, replayBuilder, targetsOf } from './replay.ts';

/** Replays a program, and returns the arrivals of gradients at its targets. */
export function replayedArrivals({
  forward,
  needsGrad,
  differentiable,
  leafOutputs,
}: Differentiated): readonly GradientContribution[] {
  const builder = replayBuilder();
  return withInterceptor(builder, () => {
    const { tensors, leaves } = replay(forward, needsGrad, builder, differentiateRegion);
    const targets = targetsOf(forward, tensors, leaves, leafOutputs);
    const outputs = forward.outputs.map((id, i) => (differentiable[i] ? tensors[id]! : null));
    return allArrivals(targets, outputs);
  });
}
