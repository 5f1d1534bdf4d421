/** `.grad` of op results on which `retainGrad()` was called: a backward inside the trace sets it. */

import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { Perform } from '../state/tape.ts';
import type { Tracer } from '../state/tracer.ts';
import { writeTensorGrad } from '../values/tensor-properties.ts';
import { resolved, specialized } from '../variables/unions.ts';
import { gradientVariable } from './optional-gradient.ts';
import { traceBackward } from './trace-backward.ts';

/** Runs the engine as `traceBackward` does, and writes the retained gradients. */
export function traceRetaining<T>(
  t: Tracer,
  roots: readonly Tensor[],
  operands: readonly unknown[],
  run: Perform<T>,
): T {
  for (const { grad } of t.autograd.retained) if (grad) specialized(grad);
  const retained = t.autograd.retained.map((each) => t.use(each));
  const earlier = t.autograd.retained.map(({ grad }) => {
    const before = grad && resolved(grad);
    return before?.kind === 'tensor' ? t.use(before) : null;
  });
  const filling: Perform = ([handles, grads, ...own], builder) =>
    withGradients(handles as Tensor[], grads as (Tensor | null)[], () => run(own, builder));
  const found = traceBackward(t, roots, [retained, earlier, ...operands], filling);
  const [result, filled] = found as [T, (Tensor | null)[]];
  for (const [i, variable] of [...t.autograd.retained].entries()) {
    if (filled[i] !== earlier[i]) writeTensorGrad(t, variable, gradientVariable(t, filled[i]!));
  }
  return result;
}

function withGradients<T>(
  handles: readonly Tensor[],
  before: readonly (Tensor | null)[],
  body: () => T,
): [T, (Tensor | null)[]] {
  handles.forEach((handle, i) => {
    handle.grad = before[i]!;
  });
  try {
    const result = body();
    return [result, handles.map(({ grad }) => grad)];
  } finally {
    for (const handle of handles) handle.grad = null;
  }
}
