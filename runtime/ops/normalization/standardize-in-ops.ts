/** Standardization and its gradient composed of other ops, which can be differentiated again. */

import type { Tensor } from '../../tensor/tensor.ts';
import { add, mul, sub } from '../arithmetic/arithmetic.ts';
import { rsqrt } from '../arithmetic/functions.ts';
import { roundedOnce } from '../core/rounded-once.ts';
import { reshape } from '../movement/movement.ts';
import { mean } from '../reduce/reduce.ts';
import type { Grouping } from './grouping.ts';

const keep = { keepDim: true } as const;

/** Standardizes in the shape of `view`. */
export function plain(x: Tensor, { view, over, eps, centered }: Grouping) {
  const grouped = reshape(x, view);
  const center = mean(grouped, over, keep);
  const distance = centered ? sub(grouped, center) : grouped;
  const variance = mean(mul(distance, distance), over, keep);
  const scale = rsqrt(add(variance, eps));
  return { out: mul(distance, scale), scale, center, variance };
}

/** Computes the gradient with ops that can be differentiated again. */
export function recordedGradient(
  dy: Tensor,
  x: Tensor,
  weight: Tensor | null,
  grouping: Grouping,
): Tensor {
  return roundedOnce([dy, x, weight], (g, own, by) => gradientOfOps(g, own, by, grouping), x.dtype);
}

function gradientOfOps(dy: Tensor, x: Tensor, weight: Tensor | null, grouping: Grouping): Tensor {
  const { out, scale } = plain(x, grouping);
  const grouped = reshape(dy, grouping.view);
  const weighted = weight ? mul(grouped, reshape(weight, grouping.weightShape)) : grouped;
  const along = mul(out, mean(mul(weighted, out), grouping.over, keep));
  const shift = grouping.centered ? sub(weighted, mean(weighted, grouping.over, keep)) : weighted;
  return reshape(mul(scale, sub(shift, along)), x.shape);
}
