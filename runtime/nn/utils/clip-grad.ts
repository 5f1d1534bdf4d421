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
  const list = parametersIn('clipGradNorm_', parameters);
  return noGrad(() =>
    tidy(() => {
      const total = commonNorm(list, normType);
      if (!total) throw noGradient('clipGradNorm_', list);
      const factor = mul(reciprocal(add(total, 1e-6)), maxNorm);
      // As in PyTorch, the factor of a NaN norm is NaN.
      const atMostOne = clampMax(factor, 1);
      for (const { grad } of list) if (grad) mul_(grad, atMostOne);
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
  const list = parametersIn('clipGradValue_', parameters);
  let isAny = false;
  noGrad(() => {
    for (const { grad } of list) {
      if (!grad) continue;
      clamp_(grad, -limit, limit);
      isAny = true;
    }
  });
  if (!isAny) throw noGradient('clipGradValue_', list);
}

const noGradient = (use: string, list: readonly Tensor[]): ArgumentError =>
  new ArgumentError({
    what: `${use}: no parameter has a gradient`,
    given: `${list.length} parameters, none with a gradient`,
    expected: 'parameters after backward()',
    remedy: 'call it between loss.backward() and optimizer.step()',
  });

/**
 * Returns null if there is no gradient. The gradients are not collected in an array: in a program, where some may exist
 * on some paths only, it would have many lengths.
 */
function commonNorm(list: readonly Tensor[], normType: number): Tensor | null {
  const join = normType === Number.POSITIVE_INFINITY ? maximum : add;
  let joined: Tensor | null = null;
  for (const { grad } of list) {
    if (!grad) continue;
    const own = part(grad, normType);
    joined = joined ? join(joined, own) : own;
  }
  if (!joined || normType === Number.POSITIVE_INFINITY || normType === 1) return joined;
  return normType === 2 ? sqrt(joined) : pow(joined, 1 / normType);
}

function part(gradient: Tensor, normType: number): Tensor {
  if (normType === Number.POSITIVE_INFINITY) return max(abs(gradient));
  if (normType === 1) return sum(abs(gradient));
  return sum(normType === 2 ? mul(gradient, gradient) : pow(abs(gradient), normType));
}
