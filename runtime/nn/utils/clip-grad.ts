import { noGrad } from '../../autograd/grad-mode.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { mul_ } from '../../ops/in-place/in-place.ts';
import { clamp_ } from '../../ops/in-place/pointwise-in-place.ts';
import {
  abs,
  add,
  clampMax,
  maximum,
  mul,
  pow,
  reciprocal,
  sqrt,
} from '../../ops/pointwise/pointwise.ts';
import { expectNumber } from '../../ops/record/positional.ts';
import { max } from '../../ops/reduce/extremes.ts';
import { sum } from '../../ops/reduce/reduce.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { parametersIn } from './parameters-in.ts';

/**
 * Scales all gradients in place so that their norm, as one vector, is at most `maxNorm`. Returns the norm before
 * scaling as a tensor, without reading from the device.
 */
export function clipGradNorm_(
  parameters: Tensor | Iterable<Tensor>,
  maxNorm: number,
  normType = 2,
): Tensor {
  expectNumber('clipGradNorm_', 'maxNorm', maxNorm);
  expectNumber('clipGradNorm_', 'normType', normType);
  if (!(normType > 0)) {
    throw new ArgumentError({
      what: 'clipGradNorm_: no such norm',
      given: `normType = ${normType}`,
      expected: 'a number above 0, or Infinity',
      remedy: 'pass 2 for the Euclidean norm',
    });
  }
  const gradients = gradientsOf('clipGradNorm_', parameters);
  return noGrad(() =>
    tidy(() => {
      const total = commonNorm(gradients, normType);
      const factor = mul(reciprocal(add(total, 1e-6)), maxNorm);
      // As in PyTorch, the factor of a NaN norm is NaN.
      const atMostOne = clampMax(factor, 1);
      for (const gradient of gradients) mul_(gradient, atMostOne);
      return total;
    }),
  );
}

/** Clamps every element of the gradients to [−limit, limit], in place. */
export function clipGradValue_(parameters: Tensor | Iterable<Tensor>, limit: number): void {
  expectNumber('clipGradValue_', 'limit', limit);
  if (!(limit >= 0)) {
    throw new ArgumentError({
      what: 'clipGradValue_: limit out of range',
      given: `limit = ${limit}`,
      expected: 'a number, 0 or more',
      remedy: 'pass the largest absolute value that an element may have',
    });
  }
  const gradients = gradientsOf('clipGradValue_', parameters);
  noGrad(() => {
    for (const gradient of gradients) clamp_(gradient, -limit, limit);
  });
}

function gradientsOf(use: string, parameters: Tensor | Iterable<Tensor>): Tensor[] {
  const list = parametersIn(use, parameters);
  const gradients = list.flatMap(({ grad }) => (grad ? [grad] : []));
  if (gradients.length > 0) return gradients;
  throw new ArgumentError({
    what: `${use}: no parameter has a gradient`,
    given: `${list.length} parameters, none with a gradient`,
    expected: 'parameters after backward()',
    remedy: 'call it between loss.backward() and optimizer.step()',
  });
}

function commonNorm(gradients: readonly Tensor[], normType: number): Tensor {
  const join = normType === Number.POSITIVE_INFINITY ? maximum : add;
  const parts = gradients.map((gradient) => part(gradient, normType));
  const joined = parts.slice(1).reduce((all, next) => join(all, next), parts[0]!);
  if (normType === Number.POSITIVE_INFINITY || normType === 1) return joined;
  return normType === 2 ? sqrt(joined) : pow(joined, 1 / normType);
}

function part(gradient: Tensor, normType: number): Tensor {
  if (normType === Number.POSITIVE_INFINITY) return max(abs(gradient));
  if (normType === 1) return sum(abs(gradient));
  return sum(normType === 2 ? mul(gradient, gradient) : pow(abs(gradient), normType));
}
