/**
 * In-place forms of ops without an in-place kernel: the result is computed separately and copied over the target,
 * which keeps its shape and dtype.
 */

import { formatSpec } from '../../device/tensor-meta.ts';
import { DTypeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { div, floorDivide, fmod, remainder, round } from '../arithmetic/division.ts';
import { logicalAnd, logicalNot, logicalOr, logicalXor } from '../arithmetic/logic.ts';
import { tril, triu } from '../arranging/triangles.ts';
import { clone } from '../movement/movement.ts';
import { clamp, clampMax, clampMin, lerp, nanToNum, xlogy } from '../pointwise/combining.ts';
import { copysign, hypot } from '../pointwise/pairs.ts';
import { pow } from '../pointwise/powers.ts';
import { cumprod, cumsum } from '../reduce/scans.ts';
import { copy_, kindRank } from './in-place.ts';

/**
 * Overwrites the op's first operand with its result. Throws DTypeError for fractions written to integers, and for
 * numbers written to booleans.
 */
const over =
  <A extends unknown[]>(name: string, fn: (x: Tensor, ...rest: A) => Tensor) =>
  (target: Tensor, ...rest: A): Tensor =>
    naming(`${name}_`, () =>
      tidy(() => {
        // Backward may read the overwritten value.
        const result = fn(target.requiresGrad ? clone(target) : target, ...rest);
        if (kindRank(result.dtype) > kindRank(target.dtype)) {
          throw new DTypeError({
            what: `${name}_: the target's dtype can't hold the result`,
            given: `target ${formatSpec(target)}, result ${formatSpec(result)}`,
            expected: 'a target whose dtype holds the result',
            remedy: `use the out-of-place form of ${name}_`,
          });
        }
        return copy_(target, result);
      }),
    );

export const divOver = over('div', div);
export const powOver = over('pow', pow);
export const roundOver = over('round', round);
export const clampOver = over('clamp', clamp);
export const lerp_ = over('lerp', lerp);
export const xlogy_ = over('xlogy', xlogy);
export const floorDivide_ = over('floorDivide', floorDivide);
export const remainder_ = over('remainder', remainder);
export const fmod_ = over('fmod', fmod);
export const copysign_ = over('copysign', copysign);
export const hypot_ = over('hypot', hypot);
export const clampMin_ = over('clampMin', clampMin);
export const clampMax_ = over('clampMax', clampMax);
export const nanToNum_ = over('nanToNum', nanToNum);
export const logicalAnd_ = over('logicalAnd', logicalAnd);
export const logicalOr_ = over('logicalOr', logicalOr);
export const logicalXor_ = over('logicalXor', logicalXor);
export const logicalNot_ = over('logicalNot', logicalNot);
export const cumsum_ = over('cumsum', cumsum);
export const cumprod_ = over('cumprod', cumprod);
export const tril_ = over('tril', tril);
export const triu_ = over('triu', triu);
