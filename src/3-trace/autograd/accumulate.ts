/** Accumulates the gradient that backward has found for a leaf into its `.grad`. */

import { enableGrad, noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { isContiguousMeta } from '../../../runtime/device/tensor-meta.ts';
import { bind1 } from '../../../runtime/ops/core/bind.ts';
import { copy } from '../../../runtime/ops/core/copy.ts';
import { add_ } from '../../../runtime/ops/in-place/in-place.ts';
import { add } from '../../../runtime/ops/pointwise/pointwise.ts';
import type { ValueId } from '../../../runtime/program/program.ts';
import { sizeOf } from '../../../runtime/spec/shape.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { requiresGradAlways } from '../control-flow/merge/requires-grad.ts';
import { isMadeInside } from '../state/region-builder.ts';
import { asEagerly } from '../state/rejected-eagerly.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf } from '../state/value-guards.ts';
import { readTensorProperty, writeTensorGrad } from '../values/tensor-properties.ts';
import { resolved } from '../variables/unions.ts';
import type { TensorVariable } from '../variables/variable.ts';
import { siteOf } from './hooks.ts';
import { gradientVariable } from './optional-gradient.ts';

interface Accumulation {
  /** The first value that this backward created. */
  readonly first: ValueId;
  readonly createGraph: boolean;
}

export function accumulate(
  t: Tracer,
  leaf: TensorVariable,
  gradient: Tensor,
  options: Accumulation,
): void {
  // Frozen since forward.
  if (requiresGradAlways(t, t.use(leaf)) === false) return;
  // Outside a branch or loop, a captured tensor may have a history, and is then no leaf.
  if (t.control.depth > 0 && !leaf.source && !(leaf.traced && isMadeInside(t, leaf.traced))) {
    const what = 'the gradient of a tensor is assigned';
    if (!leaf.traced || !t.control.endsWith(t.frames[0]!))
      throw new GraphBreak('object-write', what);
    // The gradient lives until the function returns, so the caller must not receive the leaf.
    t.autograd.watched.set(leaf.traced, siteOf(t, what));
  }
  const earlier = resolved(readTensorProperty(t, leaf, 'grad'));
  if (earlier.kind !== 'tensor') {
    constantOf(t, earlier);
    writeTensorGrad(t, leaf, gradientVariable(t, ownMemory(t, gradient, options)));
    return;
  }
  const target = t.use(earlier);
  if (!options.createGraph) {
    asEagerly(() =>
      t.perform([target, gradient], ([sum, part]) =>
        noGrad(() => add_(sum as Tensor, part as Tensor)),
      ),
    );
    return;
  }
  // The sum has an autograd history of its own.
  const sum = t.perform<Tensor>([target, gradient], ([before, part]) =>
    enableGrad(() => add(before as Tensor, part as Tensor)),
  );
  t.effects.dispose(earlier, t.catchesRejection || t.builder.hasChecks);
  t.gradients.add(t.builder.rootOf(sum));
  writeTensorGrad(t, leaf, t.result(sum));
}

/** Returns a gradient with memory of its own, as in eager execution, because `.grad` may be written in place later. */
function ownMemory(t: Tracer, gradient: Tensor, { first, createGraph }: Accumulation): Tensor {
  const root = t.builder.rootOf(gradient);
  const whole = t.perform<boolean>([gradient], ([part], builder) => {
    const tensor = part as Tensor;
    const isAll = sizeOf(tensor.shape) === builder.sizeOf(builder.rootOf(tensor));
    return isAll && isContiguousMeta(tensor) && !builder.isHandedThrough(tensor);
  });
  // Writing to the gradient must not overwrite values that a recorded backward saved.
  if (whole && root >= first && !createGraph && !t.gradients.has(root)) {
    t.gradients.add(root);
    return gradient;
  }
  const mode = createGraph ? enableGrad : noGrad;
  const copied = t.perform<Tensor>([gradient], ([part]) =>
    mode(() => bind1(copy, [part as Tensor])),
  );
  t.gradients.add(t.builder.rootOf(copied));
  return copied;
}
