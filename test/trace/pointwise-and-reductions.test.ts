/** Functions of elements, reductions and scans inside captured functions. */

import { describe, expect, it } from 'vitest';
import { elu, gelu, max, min, pow, type Tensor, where } from '../../src/index.ts';
import { expectSameAsEager, weights } from './same-as-eager.ts';

type Binary = (x: Tensor, y: Tensor) => Tensor;

describe('pointwise ops and reductions are one graph, with their gradients', () => {
  const functions: Readonly<Record<string, Binary>> = {
    trigonometry: (x, y) => x.sin().mul(y.cos()).add(x.atan2(y)).add(x.tan().tanh()),
    hyperbolics: (x, y) => x.sinh().add(y.cosh()).add(x.asinh()).add(y.atanh()),
    'exponentials and logarithms': (x, y) =>
      x.expm1().add(y.exp2()).add(x.square().log1p()).add(y.erf()),
    activations: (x, y) =>
      gelu(x).add(gelu(y, 'tanh')).add(elu(x, 0.5)).add(y.silu()).add(x.mish()).add(y.softplus()),
    bounds: (x, y) =>
      x.clamp(-0.5, 0.5).add(y.clamp(null, x)).add(x.minimum(y)).add(x.lerp(y, 0.3)),
    powers: (x, y) => pow(2, x).add(y.abs().add(1).pow(x)).add(x.square().add(1).rsqrt()),
    'quotients and remainders': (x, y) =>
      x
        .remainder(0.3)
        .add(x.div(y.add(3), { roundingMode: 'floor' }))
        .add(y.round(1)),
    choices: (x, y) =>
      where(x.gt(0).logicalAnd(y.gt(0)), x, 2).add(y.maskedFill(x.isfinite().logicalNot(), 0)),
    statistics: (x, y) =>
      x.var(1).add(y.std(1)).add(x.norm(2, 1)).add(y.logsumexp(1)).add(x.prod(1)).sum(),
    'largest and smallest': (x, y) => {
      const [values, places] = max(x, 1);
      return values.add(min(y, 1)[0]).mul(places).add(x.amin()).add(y.argmax());
    },
    scans: (x, y) => x.cumsum(1).add(y.cumprod(0)),
    'softmax of any dimension': (x, y) => x.softmax(0).add(y.logSoftmax(0)),
    questions: (x, y) => x.gt(0).any(1).logicalOr(y.gt(0).all(1)).mul(x.sum(1)),
  };
  for (const [name, fn] of Object.entries(functions)) {
    it(name, () => {
      const { graphs, breaks } = expectSameAsEager(() => ({
        fn,
        args: () => [weights([2, 4]), weights([2, 4], 1)],
      }));
      expect([graphs, breaks]).toEqual([1, 0]);
    });
  }
});
