/** Zeroing at random, for training. Each takes one number of the stream per decision. */

import { deviceGuard } from '../device/current.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { tidy } from '../tensor/lifetime.ts';
import { formatSpec } from '../tensor/meta.ts';
import type { Shape } from '../tensor/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { rand } from './create.ts';
import { add, lt, maskedFill, mul } from './pointwise.ts';

function expectPart(name: string, p: number): void {
  if (p >= 0 && p <= 1) return;
  throw new ArgumentError({
    what: `${name}: not a probability`,
    given: `p = ${p}`,
    expected: 'a number from 0 to 1',
    remedy: 'pass the part that is zeroed, such as 0.1',
  });
}

/** bool, true with probability p: what backward keeps is one byte per decision. */
function chosen(x: Tensor, shape: Shape, p: number): Tensor {
  return lt(
    deviceGuard(x.device, () => rand(shape)),
    p,
  );
}

/** What is left is larger by 1/(1 − p): the mean stays. */
function zeroed(x: Tensor, shape: Shape, p: number): Tensor {
  if (p === 1) return mul(x, 0);
  return tidy(() => maskedFill(mul(x, 1 / (1 - p)), chosen(x, shape, p), 0));
}

/** Zeroes each element with probability `p` while `training`; else `x` itself. */
export function dropout(x: Tensor, p = 0.5, training = true): Tensor {
  expectPart('dropout', p);
  return training && p > 0 ? zeroed(x, x.shape, p) : x;
}

/** Zeroes whole channels of [n, c, …]. */
export function featureDropout(x: Tensor, p = 0.5, training = true): Tensor {
  expectPart('featureDropout', p);
  if (x.rank < 2) {
    throw new ShapeError({
      what: 'featureDropout: no channels',
      given: formatSpec(x),
      expected: '[n, c, …]',
      remedy: 'use dropout for vectors, or add the dimension of the batch: x.unsqueeze(0)',
    });
  }
  const channels = x.shape.map((size, dim) => (dim < 2 ? size : 1));
  return training && p > 0 ? zeroed(x, channels, p) : x;
}

/** −scale · alpha of SELU: where its negative side ends. */
const lowest = -1.7580993408473766;

/** Klambauer and others' dropout for SELU: sets elements to its lowest value; keeps mean and variance. */
export function alphaDropout(x: Tensor, p = 0.5, training = true): Tensor {
  expectPart('alphaDropout', p);
  if (!training || p === 0) return x;
  if (p === 1) return mul(x, 0);
  const scale = 1 / Math.sqrt((1 - p) * (1 + p * lowest * lowest));
  return tidy(() =>
    add(mul(maskedFill(x, chosen(x, x.shape, p), lowest), scale), -scale * p * lowest),
  );
}
