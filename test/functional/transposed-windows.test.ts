/**
 * Gradients of transposed convolutions for windows of all kinds. The op is linear in each operand: with gradients g
 * of Σ y · weights, Σ x · g(x) and Σ w · g(w) are both Σ y · weights.
 */

import { expect, it } from 'vitest';
import {
  convTranspose1d,
  convTranspose2d,
  grad,
  mul,
  ones,
  sum,
  tensor,
  tidy,
} from '../../runtime/index.ts';
import { expectClose, spread, type Tensor } from '../ops/eager.ts';

const leaf = (shape: readonly number[], salt: number): Tensor =>
  tensor(Float64Array.from(spread([...shape], salt)), { shape: [...shape] }).requiresGrad_();

/** All output paddings below the larger of stride and dilation. */
const windows = [1, 2, 3].flatMap((stride) =>
  [1, 2, 3].flatMap((dilation) =>
    [0, 1].flatMap((padding) =>
      Array.from({ length: Math.max(stride, dilation) }, (_, outputPadding) => ({
        stride,
        dilation,
        padding,
        outputPadding,
      })),
    ),
  ),
);

it.each(windows)(
  'stride $stride, dilation $dilation, padding $padding, output padding $outputPadding',
  (options) => {
    tidy(() => {
      const cases = [
        [convTranspose1d, leaf([2, 3, 4], 1), leaf([3, 2, 2], 2)],
        [convTranspose2d, leaf([2, 3, 4, 3], 3), leaf([3, 2, 2, 3], 4)],
      ] as const;
      for (const [run, x, w] of cases) {
        const y = run(x, w, null, options as never);
        const weights = leaf(y.shape, 5).detach();
        const total = sum(mul(y, weights));
        const gradients = grad(total, [x, w], { createGraph: true }) as Tensor[];
        [x, w].forEach((own, i) => {
          expect(gradients[i]!.shape).toEqual(own.shape);
          const product = sum(mul(own, gradients[i]!));
          expectClose(product.dataSync(), total.dataSync(), 'the gradient', {
            relative: 1e-10,
            absolute: 1e-10,
          });
        });
        // The gradient of x is linear in w and doesn't depend on x.
        const second = grad(sum(mul(gradients[0]!, ones(x.shape, { dtype: 'float64' }))), [
          w,
        ]) as Tensor[];
        expectClose(
          sum(mul(second[0]!, w)).dataSync(),
          sum(gradients[0]!).dataSync(),
          'the second gradient',
          { relative: 1e-10, absolute: 1e-10 },
        );
      }
    });
  },
);
