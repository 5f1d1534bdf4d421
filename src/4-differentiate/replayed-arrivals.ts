import { InvariantError } from '../../runtime/errors/invariant.ts';
import { withInterceptor } from '../../runtime/ops/core/bind.ts';
import { ProgramBuilder } from '../../runtime/program/builder.ts';
import type { Arrival } from '../../runtime/program/program.ts';
import { allArrivals } from './arrivals.ts';
import { differentiateRegion } from './differentiate.ts';
import type { Differentiated } from './differentiate-again.ts';
import { replay, targetsOf } from './replay.ts';

/** Replays a program, and returns the arrivals of gradients at its targets. */
export function replayedArrivals({
  forward,
  needsGrad,
  differentiable,
  leafOutputs,
}: Differentiated): readonly Arrival[] {
  const builder = new ProgramBuilder(() => {
    throw new InvariantError('a tensor with data in a program that is being differentiated');
  });
  return withInterceptor(builder, () => {
    const { tensors, leaves } = replay(forward, needsGrad, builder, differentiateRegion);
    const targets = targetsOf(forward, tensors, leaves, leafOutputs);
    const outputs = forward.outputs.map((id, i) => (differentiable[i] ? tensors[id]! : null));
    return allArrivals(targets, outputs);
  });
}
