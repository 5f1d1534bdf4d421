import { noGrad } from '../../../../runtime/autograd/grad-mode.ts';
import { eq } from '../../../../runtime/ops/pointwise/pointwise.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { RegionBuilder } from '../../state/region-builder.ts';
import type { Tracer } from '../../state/tracer.ts';
import { appendBranches } from './append-branches.ts';

/**
 * Returns the tensor with the index that the program has chosen, without copying it. All options have the same
 * dtype and layout.
 */
export function chosenTensor(
  t: Tracer,
  which: Tensor,
  options: readonly (Tensor | null)[],
): Tensor {
  const numbered = options.flatMap((option, i) => (option ? [{ option, i }] : []));
  const last = numbered.pop()!.option;
  return numbered.reduceRight((rest, { option, i }) => {
    const truth = t.runApi(() => noGrad(() => eq(which, i)));
    return oneOfTwo(t, truth, option, rest);
  }, last);
}

function oneOfTwo(t: Tracer, truth: Tensor, whenTrue: Tensor, whenFalse: Tensor): Tensor {
  const outputs = [[whenTrue], [whenFalse]];
  const regions = outputs.map(() => new RegionBuilder(t.surroundings));
  return appendBranches(t, truth, regions, outputs, outputs)[0]!;
}
