/** Random zeroing for training. Draws one number of the stream per decision. */

import { deviceGuard } from '../../device/current.ts';
import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import type { Shape } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, mul } from '../arithmetic/arithmetic.ts';
import {
  equals,
  isAtMost,
  isBelow,
  minus,
  negated,
  plus,
  product,
  quotient,
  root,
} from '../numbers/number-arithmetic.ts';
import { lt, maskedFill } from '../pointwise/comparison.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { expectFlag, expectNumber } from '../record/positional.ts';
import { rand } from './drawn.ts';

function expectPart(name: string, x: Tensor, p: number, training: boolean): void {
  expectTensors(name, x);
  expectNumber(name, 'p', p);
  expectFlag(name, 'training', training);
  if (isAtMost(0, p) && isAtMost(p, 1)) return;
  throw new ArgumentError({
    what: `${name}: not a probability`,
    given: `p = ${p}`,
    expected: 'a number from 0 to 1',
    remedy: 'pass the fraction to zero, such as 0.1',
  });
}

/** Returns bool, true with probability p: backward saves one byte per decision. */
function chosen(x: Tensor, shape: Shape, p: number): Tensor {
  return lt(
    deviceGuard(x.device, () => rand(shape)),
    p,
  );
}

/** Zeroes elements; scales the others by 1/(1 − p), which keeps the mean. */
function zeroed(x: Tensor, shape: Shape, p: number): Tensor {
  if (equals(p, 1)) return mul(x, 0);
  return tidy(() => maskedFill(mul(x, quotient(1, minus(1, p))), chosen(x, shape, p), 0));
}

/** Zeroes each element with probability `p` while `training`; else returns `x` itself. */
export function dropout(x: Tensor, p = 0.5, training = true): Tensor {
  expectPart('dropout', x, p, training);
  return training && isBelow(0, p) ? zeroed(x, x.shape, p) : x;
}

/** Returns the shape of one decision per channel of [n, c, …]. */
function channelsOf(name: string, x: Tensor): Shape {
  if (x.rank >= 2) return x.shape.map((size, dim) => (dim < 2 ? size : 1));
  throw new ShapeError({
    what: `${name}: no channels`,
    given: formatSpec(x),
    expected: '[n, c, …]',
    remedy: 'use dropout for vectors, or add the dimension of the batch: x.unsqueeze(0)',
  });
}

/** Zeroes entire channels of [n, c, …]. */
export function featureDropout(x: Tensor, p = 0.5, training = true): Tensor {
  expectPart('featureDropout', x, p, training);
  const channels = channelsOf('featureDropout', x);
  return training && isBelow(0, p) ? zeroed(x, channels, p) : x;
}

/** −scale · alpha of SELU: the limit of its negative side. */
const lowest = -1.7580993408473766;

/** Sets elements to SELU's lower limit, then scales and shifts all of them. */
function lowered(x: Tensor, shape: Shape, p: number): Tensor {
  if (equals(p, 1)) return mul(x, 0);
  const spread = product(minus(1, p), plus(1, product(product(p, lowest), lowest)));
  const scale = quotient(1, root(spread));
  return tidy(() =>
    add(
      mul(maskedFill(x, chosen(x, shape, p), lowest), scale),
      product(product(negated(scale), p), lowest),
    ),
  );
}

/** Dropout for SELU (Klambauer et al.): sets elements to SELU's lower limit, preserving mean and variance. */
export function alphaDropout(x: Tensor, p = 0.5, training = true): Tensor {
  expectPart('alphaDropout', x, p, training);
  return training && isBelow(0, p) ? lowered(x, x.shape, p) : x;
}

/** `alphaDropout` of entire channels of [n, c, …]. */
export function featureAlphaDropout(x: Tensor, p = 0.5, training = true): Tensor {
  expectPart('featureAlphaDropout', x, p, training);
  const channels = channelsOf('featureAlphaDropout', x);
  return training && isBelow(0, p) ? lowered(x, channels, p) : x;
}
