import { deviceGuard } from '../device/current.ts';
import { AutogradError, ShapeError } from '../errors/errors.ts';
import { bind1 } from '../ops/bind.ts';
import { copy } from '../ops/copy.ts';
import { ones } from '../ops/create.ts';
import { add_ } from '../ops/in-place.ts';
import { keep } from '../tensor/lifetime.ts';
import { formatSpec } from '../tensor/meta.ts';
import { sameShape } from '../tensor/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { runBackward } from './engine.ts';

export interface BackwardOptions {
  /** Keeps the saved values, so that the same graph can be differentiated again. */
  readonly retainGraph?: boolean;
}

/**
 * Adds the gradient of `output` to `.grad` of every leaf that requires one. `gradient` has the shape of
 * `output` and may be left out for one element. Frees the graph's saved values unless `retainGraph`.
 * Throws AutogradError for a tensor without graph, or one that was differentiated already.
 */
export function backward(
  output: Tensor,
  gradient: Tensor | null = null,
  options: BackwardOptions = {},
): void {
  output.traced ?? output.holderFor('backward');
  if (!output.requiresGrad) {
    throw new AutogradError({
      what: 'backward: the tensor has no gradient history',
      given: `a ${formatSpec(output)} tensor that does not require a gradient`,
      expected: 'a result computed from tensors that require gradients, outside noGrad',
      remedy: 'call requiresGrad_() on the leaves before computing',
    });
  }
  const seed = gradient ? checkedGradient(output, gradient).detach() : seedFor(output);
  const { retainGraph = false } = options;
  runBackward([{ tensor: output, gradient: keep(seed) }], { retainGraph, sink: accumulate });
}

function seedFor(output: Tensor): Tensor {
  if (output.size !== 1) {
    throw new ShapeError({
      what: 'backward: which gradient to start with is not clear',
      given: `a ${formatSpec(output)} tensor with ${output.size} elements and no gradient`,
      expected: 'one element, or a gradient of the same shape',
      remedy: 'reduce the result first (loss.mean().backward()), or pass backward(gradient)',
    });
  }
  return deviceGuard(output.device, () => ones(output.shape));
}

function checkedGradient(output: Tensor, gradient: Tensor): Tensor {
  if (sameShape(output.shape, gradient.shape) && output.dtype === gradient.dtype) return gradient;
  throw new ShapeError({
    what: 'backward: the gradient does not fit the tensor',
    given: `gradient ${formatSpec(gradient)} for ${formatSpec(output)}`,
    expected: formatSpec(output),
    remedy: 'pass a gradient of the same shape and dtype',
  });
}

/** The sink of `backward`: `.grad` starts as the gradient itself when nobody else holds its memory. */
function accumulate(leaf: Tensor, gradient: Tensor): void {
  if (leaf.grad) {
    add_(leaf.grad, gradient);
    gradient.dispose();
    return;
  }
  if (ownsWholeHolder(gradient)) {
    leaf.grad = keep(gradient);
    return;
  }
  leaf.grad = keep(bind1(copy, [gradient]));
  gradient.dispose();
}

/** Later accumulation writes in place, so the memory must be the gradient's alone. */
function ownsWholeHolder(gradient: Tensor): boolean {
  const { holder, device, dtype, size } = gradient;
  if (!holder) return false;
  const bytes = size * device.elementBytes(dtype);
  return holder.owners === 1 && holder.bytes === bytes && gradient.isContiguous;
}
