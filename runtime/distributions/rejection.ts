/**
 * Samplers that reject. Their proposals are drawn together, since a program can't draw until one is accepted: as many
 * that all being rejected is less probable than the rounding of float64 is coarse.
 */

import { noGrad } from '../autograd/grad-mode.ts';
import { customFunction } from '../backward/custom-function.ts';
import { expand } from '../ops/core/broadcast.ts';
import { cast } from '../ops/core/cast.ts';
import { gather } from '../ops/indexing/gather.ts';
import { squeeze } from '../ops/movement/movement.ts';
import {
  abs,
  add,
  clampMin,
  div,
  exp,
  floor,
  ge,
  gt,
  le,
  lgamma,
  log,
  logicalAnd,
  logicalOr,
  lt,
  mul,
  pow,
  reciprocal,
  rsqrt,
  rsub,
  sqrt,
  square,
  sub,
  where,
} from '../ops/pointwise/pointwise.ts';
import { gammaSlope } from '../ops/random/gamma-slope.ts';
import { argmax } from '../ops/reduce/extremes.ts';
import { sum } from '../ops/reduce/reduce.ts';
import { cumsum } from '../ops/reduce/scans.ts';
import type { Shape } from '../spec/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { normalFor, tiniestOf, uniformFor } from './distribution.ts';
import { valuesTo } from './values-to.ts';

const widened = (x: Tensor): Tensor =>
  x.dtype === 'float16' || x.dtype === 'bfloat16' ? cast(x, 'float32') : x;

/** Returns the first accepted proposal of each element; proposals [rounds, ...shape]. */
function firstAccepted(proposals: Tensor, isAccepted: Tensor): Tensor {
  const first = argmax(cast(isAccepted, 'int32'), 0, true);
  return squeeze(gather(proposals, 0, first), 0);
}

/** Proposals of Marsaglia and Tsang, of which at least 95 % are accepted. */
const gammaRounds = 12;

/** Returns the sample, which moves with its concentration as its quantile does. */
const moving = /* @__PURE__ */ customFunction({
  name: 'rsample',
  forward: (ctx, sample: Tensor, alpha: Tensor) => {
    ctx.saveForBackward(sample, alpha);
    return sample;
  },
  backward: (ctx, dy) => {
    const [sample, alpha] = ctx.savedTensors;
    return [null, mul(dy, gammaSlope(sample!, alpha!))];
  },
});

/** Draws gamma-distributed numbers with rate 1, with gradients of the concentration. */
export function drawGamma(concentration: Tensor, shape: Shape): Tensor {
  const alpha = expand(widened(concentration), shape);
  const drawn = noGrad(() => acceptedGamma(alpha, shape));
  return cast(alpha.requiresGrad ? moving(drawn, alpha) : drawn, concentration.dtype);
}

/** Draws by the method of Marsaglia and Tsang (2000). */
function acceptedGamma(alpha: Tensor, shape: Shape): Tensor {
  // Below 1, a power of a uniform number makes up for one more.
  const isSmall = lt(alpha, 1);
  const d = sub(where(isSmall, add(alpha, 1), alpha), 1 / 3);
  const rounds = [gammaRounds, ...shape];
  const normal = normalFor(alpha, rounds);
  const root = add(mul(normal, mul(rsqrt(d), 1 / 3)), 1);
  const cube = pow(root, 3);
  const uniform = rsub(uniformFor(alpha, rounds), 1);
  const bound = add(mul(square(normal), 0.5), mul(d, add(rsub(cube, 1), log(cube))));
  const accepted = firstAccepted(cube, logicalAnd(gt(root, 0), lt(log(uniform), bound)));
  const share = pow(rsub(uniformFor(alpha, shape), 1), reciprocal(alpha));
  const drawn = mul(mul(d, accepted), where(isSmall, share, 1));
  // A sample of 0 would have an infinite density.
  return clampMin(drawn, tiniestOf(drawn));
}

/** Proposals of Hörmann's method, of which three quarters are accepted at a rate of 10, and more at larger ones. */
const poissonRounds = 26;
/** Up to this rate, the distribution function is inverted. */
const largestInverted = 10;
/** More than this many events at a rate of 10 are less probable than 1e-20. */
const mostInverted = 60;

/** Draws Poisson-distributed numbers: by inversion, or by transformed rejection with squeeze (Hörmann, 1993). */
export function drawPoisson(rates: Tensor, shape: Shape): Tensor {
  const rate = expand(widened(rates), shape);
  const drawn = where(
    lt(rate, largestInverted),
    invertedPoisson(rate, shape),
    rejectedPoisson(rate, shape),
  );
  return cast(drawn, rates.dtype);
}

function invertedPoisson(rate: Tensor, shape: Shape): Tensor {
  const counts = valuesTo(rate, mostInverted, shape, false);
  const logs = sub(
    sub(mul(counts, log(clampMin(rate, tiniestOf(rate)))), rate),
    lgamma(add(counts, 1)),
  );
  const reached = ge(uniformFor(rate, shape), cumsum(exp(logs), 0));
  return sum(cast(reached, rate.dtype), 0);
}

function rejectedPoisson(small: Tensor, shape: Shape): Tensor {
  const rate = clampMin(small, largestInverted);
  const rounds = [poissonRounds, ...shape];
  const b = add(mul(sqrt(rate), 2.53), 0.931);
  const a = sub(mul(b, 0.02483), 0.059);
  const inverse = add(mul(reciprocal(sub(b, 3.4)), 1.1328), 1.1239);
  const sure = rsub(mul(reciprocal(sub(b, 2)), 3.6224), 0.9277);
  const u = sub(uniformFor(rate, rounds), 0.5);
  const v = rsub(uniformFor(rate, rounds), 1);
  const inner = rsub(abs(u), 0.5);
  const k = floor(add(add(mul(add(div(mul(a, 2), inner), b), u), rate), 0.43));
  const isSure = logicalAnd(ge(inner, 0.07), le(v, sure));
  const isPossible = logicalAnd(ge(k, 0), logicalOr(ge(inner, 0.013), le(v, inner)));
  const left = sub(log(mul(v, inverse)), log(add(div(a, square(inner)), b)));
  const count = clampMin(k, 0);
  const right = sub(sub(mul(count, log(rate)), rate), lgamma(add(count, 1)));
  const isAccepted = logicalOr(isSure, logicalAnd(isPossible, le(left, right)));
  return firstAccepted(count, isAccepted);
}
