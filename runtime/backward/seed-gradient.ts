import { enableGrad, noGrad } from '../autograd/grad-mode.ts';
import { share } from '../autograd/share.ts';
import { deviceGuard } from '../device/current.ts';
import { formatSpec } from '../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { ones } from '../ops/movement/create.ts';
import { sameShape } from '../spec/shape.ts';
import { keep } from '../tensor/lifetime.ts';
import { Tensor } from '../tensor/tensor.ts';

/** Returns the initial gradient as a handle owned by the engine: the user's, or 1 for a single element. */
export function seedGradient(use: string, output: Tensor, gradient: Tensor | null): Tensor {
  if (gradient) return keep(enableGrad(() => share(checked(use, output, gradient))));
  if (output.numel() !== 1) {
    throw new ShapeError({
      what: `${use}: no initial gradient`,
      given: `a ${formatSpec(output)} tensor with ${output.numel()} elements and no gradient`,
      expected: 'one element, or a gradient of the same shape',
      remedy: `reduce the result first (loss.mean()), or pass ${use} a gradient`,
    });
  }
  return keep(
    noGrad(() => deviceGuard(output.device, () => ones(output.shape, { dtype: output.dtype }))),
  );
}

function checked(use: string, output: Tensor, value: unknown): Tensor {
  if (!(value instanceof Tensor)) {
    throw new ArgumentError({
      what: `${use}: the initial gradient is not a tensor`,
      given: typeof value === 'object' ? 'an object' : `${typeof value} ${String(value)}`,
      expected: 'a tensor first, and options after it',
      remedy: 'leave it out for a single element: loss.backward({ retainGraph: true })',
    });
  }
  const gradient = value;
  if (sameShape(output.shape, gradient.shape) && output.dtype === gradient.dtype) return gradient;
  throw new ShapeError({
    what: `${use}: the gradient does not fit the tensor`,
    given: `gradient ${formatSpec(gradient)} for ${formatSpec(output)}`,
    expected: formatSpec(output),
    remedy: 'pass a gradient of the same shape and dtype',
  });
}
