import type { Attrs } from '../../../runtime/device/kernel-op.ts';
import { indexPut } from '../../../runtime/ops/advanced-indexing/advanced-index.ts';
import { embedding } from '../../../runtime/ops/advanced-indexing/embedding.ts';
import { pad } from '../../../runtime/ops/arranging/padding.ts';
import { bind1 } from '../../../runtime/ops/core/bind.ts';
import { maskedSelect } from '../../../runtime/ops/indexing/data-dependent.ts';
import { cat, stack } from '../../../runtime/ops/movement/joining.ts';
import { opNamed } from '../../../runtime/ops/op-table.ts';
import type { Shape } from '../../../runtime/spec/shape.ts';
import { type Tensor, tensor } from '../eager.ts';
import type { GradientCase } from './gradient-cases.ts';

const on = (name: string, shape: Shape, run: (x: Tensor) => Tensor): GradientCase => ({
  name,
  shapes: [shape],
  run,
});

const two = (
  name: string,
  shapes: readonly [Shape, Shape],
  run: (x: Tensor, y: Tensor) => Tensor,
): GradientCase => ({ name, shapes, run });

const int = (shape: Shape, ...values: number[]) => tensor(Int32Array.from(values), { shape });

const zeros = (shape: Shape) =>
  tensor(new Float32Array(shape.reduce((a, b) => a * b, 1)), { shape });

/** An op that has no function of its own. */
const direct =
  (name: string, attrs: Attrs, ...others: readonly (() => Tensor)[]) =>
  (x: Tensor) =>
    bind1(opNamed(name), [x, ...others.map((make) => make())], attrs);

const places = () => int([2, 3], 0, 2, 2, 1, 1, 1);
const entries = () => int([1, 4], 2, 0, 2, 1);
const pairs = () => int([2, 3], 1, 0, 1, 2, 2, 2);

/** Of ops that move, join, choose and order elements. */
export const arrangingCases: Readonly<Record<string, readonly GradientCase[]>> = {
  cat: [
    two(
      'last',
      [
        [2, 3],
        [2, 2],
      ],
      (x, y) => cat([x, y], -1),
    ),
    two(
      'first, one twice',
      [
        [2, 3],
        [1, 3],
      ],
      (x, y) => cat([x, y, x]),
    ),
    two(
      'strided',
      [
        [2, 3],
        [3, 2],
      ],
      (x, y) => cat([x.transpose(0, 1), y], 1),
    ),
    two(
      'stacked',
      [
        [2, 3],
        [2, 3],
      ],
      (x, y) => stack([x, y], 1),
    ),
    on('reflected', [2, 4], (x) => pad(x, [2, 3, 1, 0], 'reflect')),
    on('replicated', [2, 3], (x) => pad(x, [2, 1], 'replicate')),
    on('circular', [2, 3], (x) => pad(x, [3, 1], 'circular')),
  ],
  roll: [
    on('two', [2, 5], (x) => x.roll([1, -2], [0, 1])),
    on('strided, more than its size', [4, 3], (x) => x.t().roll(-11, 1)),
    on('flat', [2, 3], (x) => x.roll(2)),
    on('by nothing', [2, 3], (x) => x.roll(3, 1)),
  ],
  flip: [
    on('one', [2, 3], (x) => x.flip(1)),
    on('two, strided', [2, 3, 2], (x) => x.transpose(0, 1).flip([0, -1])),
  ],
  place: [
    on('padded', [2, 3], (x) => pad(x, [1, 2, 0, 1], 'constant', 5)),
    on('cropped', [3, 4], (x) => pad(x, [-1, 2, 1, -2])),
    on('diagonal', [2, 3], (x) => x.diagEmbed(-1)),
  ],
  asStrided: [
    on('diagonal of a matrix', [3, 4], (x) =>
      direct('asStrided', { shape: [3], strides: [5], offset: 1 })(x),
    ),
  ],
  slice: [
    on('step 2', [2, 7], (x) => x.slice(1, 1, 6, 2)),
    on('of a transposed one', [5, 2], (x) => x.transpose(0, 1).slice(1, -4, null, 3)),
  ],
  diagonal: [
    on('above', [3, 4], (x) => x.diagonal(1)),
    on('of batches, below', [2, 3, 3], (x) => x.diagonal(-1, 2, 0)),
  ],
  unfold: [
    on('overlapping', [2, 7], (x) => x.unfold(1, 3, 2)),
    on('outer, of a transposed one', [2, 5], (x) => x.transpose(0, 1).unfold(0, 2, 1)),
  ],
  unfoldGrad: [
    on('overlapping', [2, 3, 3], (x) =>
      direct('unfoldGrad', { dim: 1, step: 2, dilation: 1 }, () => zeros([2, 7]))(x),
    ),
  ],
  gather: [
    on('outer', [3, 3], (x) => x.gather(0, places())),
    on('inner, of a transposed one', [3, 2], (x) => x.transpose(0, 1).gather(1, places())),
  ],
  gatherGrad: [
    on('inner', [2, 3], (x) => direct('gatherGrad', { dim: 1 }, places, () => zeros([2, 4]))(x)),
  ],
  scatter: [
    two(
      'distinct places',
      [
        [2, 4],
        [2, 3],
      ],
      (x, y) => x.scatter(1, int([2, 2], 0, 3, 1, 2), y),
    ),
  ],
  scatterAdd: [
    two(
      'equal places',
      [
        [3, 3],
        [2, 3],
      ],
      (x, y) => x.scatterAdd(0, places(), y),
    ),
  ],
  index: [
    on('entries', [3, 2], (x) => x.indexSelect(0, int([4], 2, 0, 2, 1))),
    on('embedding', [4, 2], (x) => embedding(x, places())),
    on('pairs', [2, 2, 3], (x) => x.index('...', pairs().select(0, 0), pairs().select(0, 1))),
    on('apart', [3, 2, 3], (x) => x.index(int([2], 0, -1), [], int([2], 1, 1))),
    on('mask', [2, 3], (x) =>
      x.index(
        tensor([
          [true, false, true],
          [false, true, false],
        ]),
      ),
    ),
    on('masked', [2, 3], (x) => maskedSelect(x, tensor([true, false, true]))),
  ],
  indexGrad: [
    on('entries', [2, 4], (x) =>
      direct('indexGrad', { dim: 1, wraps: false }, entries, () => zeros([2, 3]))(x),
    ),
  ],
  indexPut: [
    two(
      'distinct',
      [
        [2, 3],
        [2, 2],
      ],
      (x, y) => x.indexCopy(1, int([2], 2, 0), y),
    ),
    two('pairs', [[3, 3], [2]], (x, y) => indexPut(x, [int([2], 0, 2), int([2], 1, -1)], y)),
    on('filled', [2, 3], (x) => x.indexFill(1, int([2], 2, 0), 7)),
  ],
  indexAdd: [
    two(
      'equal entries',
      [
        [3, 2],
        [4, 2],
      ],
      (x, y) => x.indexAdd(0, int([4], 2, 0, 2, 1), y),
    ),
    two('accumulated', [[3, 2], [2]], (x, y) =>
      indexPut(x, [int([2], 1, 1)], y, { accumulate: true }),
    ),
  ],
  sort: [
    on('last', [2, 4], (x) => x.sort()[0]),
    on('first, descending', [4, 2], (x) => x.sort(0, true)[0]),
  ],
  topk: [
    on('largest', [2, 5], (x) => x.topk(2)[0]),
    on('smallest, outer', [5, 2], (x) => x.topk(3, 0, false)[0]),
    on('k-th', [2, 5], (x) => x.kthvalue(2)[0]),
  ],
};
