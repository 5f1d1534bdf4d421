import { noGrad } from '../../autograd/grad-mode.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { mul_ } from '../../ops/in-place/in-place.ts';
import { clamp_ } from '../../ops/in-place/pointwise-in-place.ts';
import { zeros } from '../../ops/movement/create.ts';
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
import { expectTensors } from '../../ops/record/expect-tensors.ts';
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
  expectNorm('clipGradNorm_', normType);
  const list = parametersIn('clipGradNorm_', parameters);
  return noGrad(() =>
    tidy(() => {
      const total = commonNorm(list, gradientOf, normType);
      if (!total) throw noGradient('clipGradNorm_', list);
      scaleDown(list, maxNorm, total);
      return total;
    }),
  );
}

/** Returns the norm of tensors, usually gradients, as one vector; 0 without tensors. No gradient passes. */
export function getTotalNorm(tensors: Tensor | Iterable<Tensor>, normType = 2): Tensor {
  expectNorm('getTotalNorm', normType);
  const list = parametersIn('getTotalNorm', tensors);
  return noGrad(() => tidy(() => commonNorm(list, (tensor) => tensor, normType) ?? zeros([])));
}

/** `clipGradNorm_` with a norm that is known, such as one of several models together: `getTotalNorm(gradients)`. */
export function clipGradsWithNorm_(
  parameters: Tensor | Iterable<Tensor>,
  maxNorm: number,
  totalNorm: Tensor,
): void {
  expectNumber('clipGradsWithNorm_', 'maxNorm', maxNorm);
  expectTensors('clipGradsWithNorm_', totalNorm);
  if (totalNorm.numel() !== 1) {
    throw new ShapeError({
      what: 'clipGradsWithNorm_: not a norm',
      given: `totalNorm [${totalNorm.shape}]`,
      expected: 'a tensor of one element',
      remedy: 'pass what getTotalNorm(gradients) returns',
    });
  }
  const list = parametersIn('clipGradsWithNorm_', parameters);
  const isAny = noGrad(() => tidy(() => scaleDown(list, maxNorm, totalNorm)));
  if (!isAny) throw noGradient('clipGradsWithNorm_', list);
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

function expectNorm(use: string, normType: number): void {
  expectNumber(use, 'normType', normType);
  if (normType > 0) return;
  throw new ArgumentError({
    what: `${use}: no such norm`,
    given: `normType = ${normType}`,
    expected: 'a number above 0, or Infinity',
    remedy: 'pass 2 for the Euclidean norm',
  });
}

const gradientOf = ({ grad }: Tensor): Tensor | null => grad;

/** Returns whether there is a gradient. */
function scaleDown(list: readonly Tensor[], maxNorm: number, total: Tensor): boolean {
  const factor = mul(reciprocal(add(total, 1e-6)), maxNorm);
  // As in PyTorch, the factor of a NaN norm is NaN.
  const atMostOne = clampMax(factor, 1);
  let isAny = false;
  for (const { grad } of list) {
    if (!grad) continue;
    mul_(grad, atMostOne);
    isAny = true;
  }
  return isAny;
}

const noGradient = (use: string, list: readonly Tensor[]): ArgumentError =>
  new ArgumentError({
    what: `${use}: no parameter has a gradient`,
    given: `${list.length} parameters, none with a gradient`,
    expected: 'parameters after backward()',
    remedy: 'call it between loss.backward() and optimizer.step()',
  });

/**
 * Returns the norm of what `of` returns for each tensor, null if there is nothing. Gradients are not collected in an
 * array: in a program, where some may exist on some paths only, it would have many lengths.
 */
function commonNorm(
  list: readonly Tensor[],
  of: (tensor: Tensor) => Tensor | null,
  normType: number,
): Tensor | null {
  const join = normType === Number.POSITIVE_INFINITY ? maximum : add;
  let joined: Tensor | null = null;
  for (const tensor of list) {
    const found = of(tensor);
    if (!found) continue;
    const next = part(found, normType);
    joined = joined ? join(joined, next) : next;
  }
  if (!joined || normType === Number.POSITIVE_INFINITY || normType === 1) return joined;
  return normType === 2 ? sqrt(joined) : pow(joined, 1 / normType);
}

function part(gradient: Tensor, normType: number): Tensor {
  if (normType === Number.POSITIVE_INFINITY) return max(abs(gradient));
  if (normType === 1) return sum(abs(gradient));
  return sum(normType === 2 ? mul(gradient, gradient) : pow(abs(gradient), normType));
}
