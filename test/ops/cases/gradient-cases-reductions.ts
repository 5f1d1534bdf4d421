import { bind1 } from '../../../runtime/ops/core/bind.ts';
import { opNamed } from '../../../runtime/ops/op-table.ts';
import { max, min } from '../../../runtime/ops/reduce/extremes.ts';
import type { Shape } from '../../../runtime/spec/shape.ts';
import type { Tensor } from '../eager.ts';
import type { GradientCase } from './gradient-cases.ts';

const on = (
  name: string,
  shape: Shape,
  run: (x: Tensor) => Tensor,
  range: readonly [number, number] = [-1, 1],
): GradientCase => ({ name, shapes: [shape], range, run });

/** Off 0, where products and norms have kinks or zeros. */
const around = [-0.9, 1.1] as const;
const positive = [0.5, 2] as const;

export const reductionCases: Readonly<Record<string, readonly GradientCase[]>> = {
  min: [
    on('all', [2, 3], (x) => min(x)),
    on('first, kept', [2, 3], (x) => x.amin(0, { keepDim: true })),
    on('transposed', [2, 3, 4], (x) => x.transpose(0, 2).amin(1)),
  ],
  gather: [
    on('max along a dimension', [3, 4], (x) => max(x, 1)[0].add(x.min(-1)[0])),
    on('kept', [3, 4], (x) => x.max(0, true)[0]),
  ],
  maximum: [on('by max', [2, 3], (x) => max(x, x.mul(0.5).add(0.1)))],
  prod: [
    on('all', [2, 3], (x) => x.prod(), around),
    on('last', [2, 3], (x) => x.prod(-1), around),
    on('first, kept', [2, 3], (x) => x.prod(0, true), around),
  ],
  cumsum: [
    on('last', [2, 3], (x) => x.cumsum(-1)),
    on('first', [3, 2, 2], (x) => x.cumsum(0)),
    on('scalar', [], (x) => x.cumsum(0)),
  ],
  cumprod: [
    on('last', [2, 3], (x) => x.cumprod(-1), around),
    on('middle', [2, 3, 2], (x) => x.cumprod(1), around),
  ],
  cumprodGrad: [
    {
      name: 'of both',
      shapes: [
        [2, 3],
        [2, 3],
      ],
      range: around,
      run: (dy, x) => bind1(opNamed('cumprodGrad'), [dy, x], { dim: 1 }),
    },
  ],
  sum: [
    on('variance', [3, 4], (x) => x.var(1)),
    on('variance of all, as it is', [3, 4], (x) => x.var(undefined, { correction: 0 })),
    on('standard deviation', [3, 4], (x) => x.std(0, { keepDim: true })),
    on('norm 2', [3, 4], (x) => x.norm(2, 1), around),
    on('norm 1', [3, 4], (x) => x.norm(1), around),
    on('norm 3', [3, 4], (x) => x.norm(3, [0, 1]), positive),
    on('logsumexp', [3, 4], (x) => x.logsumexp(1)),
    on('logsumexp, kept', [3, 4], (x) => x.logsumexp([0, 1], { keepDim: true })),
  ],
  softmax: [on('first', [3, 4], (x) => x.softmax(0))],
  logSoftmax: [on('first', [3, 4], (x) => x.logSoftmax(0))],
};
