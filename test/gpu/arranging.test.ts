import { describe, expect, it } from 'vitest';
import { deviceGuard } from '../../runtime/device/current.ts';
import { indexPut } from '../../runtime/ops/advanced-indexing/advanced-index.ts';
import { embedding } from '../../runtime/ops/advanced-indexing/embedding.ts';
import { pad } from '../../runtime/ops/arranging/padding.ts';
import { bind, bind1 } from '../../runtime/ops/core/bind.ts';
import { tensor } from '../../runtime/ops/core/create.ts';
import { cat, stack } from '../../runtime/ops/movement/joining.ts';
import { arange, eye, linspace } from '../../runtime/ops/movement/ranges.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import { rand } from '../../runtime/ops/random/drawn.ts';
import { bernoulli, multinomial, randint, randperm } from '../../runtime/ops/random/random.ts';
import { seed } from '../../runtime/random/seed.ts';
import type { Shape } from '../../runtime/spec/shape.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { gpuForTests, skipGpu } from './open-gpu.ts';
import { expectParity, type Tolerance } from './parity.ts';

/** The same numbers on every device: uniform in [-1, 1). */
function numbers(shape: Shape, salt = 1): Tensor {
  seed(salt);
  return rand(shape).mul(2).add(-1);
}

const int = (shape: Shape, ...values: number[]) => tensor(Int32Array.from(values), { shape });

describe.skipIf(skipGpu)('gpu/arranging', () => {
  const gpu = gpuForTests();
  const exact: Tolerance = { relative: 0, absolute: 0 };
  const parity = (body: () => Tensor, tolerance = exact) => expectParity(gpu(), body, tolerance);
  const gpuOnly = async (body: () => Tensor, nan: readonly boolean[]) => {
    const result = deviceGuard(gpu(), body);
    expect([...(await result.data())].map(Number.isNaN)).toEqual(nan);
  };
  /** Output, and the gradient of the only leaf. */
  const both = async (shape: Shape, run: (x: Tensor) => Tensor) => {
    await parity(() => run(numbers(shape)));
    await parity(
      () => {
        const x = numbers(shape).requiresGrad_();
        const y = run(x);
        y.mul(numbers(y.shape, 5)).sum().backward();
        return x.grad!;
      },
      { relative: 1e-5, absolute: 1e-5 },
    );
  };

  it('cat of many, of views, of all dtypes', async () => {
    await both([2, 3], (x) => cat([x, numbers([2, 5], 2), x], 1));
    await both([3, 2], (x) => cat([x.transpose(0, 1), numbers([1, 3], 2)]));
    await both([2, 2], (x) => stack(new Array<Tensor>(9).fill(x), 1));
    await parity(() => cat([tensor([true, false]), tensor([true])]));
    await parity(() => cat([int([2], 1, 2), numbers([0]), int([1], -4)]));
  });

  it('flip, roll and the modes of padding', async () => {
    await both([2, 3, 4], (x) => x.flip([0, 2]));
    await both([3, 4], (x) => x.transpose(0, 1).flip(1));
    await both([2, 5], (x) => x.roll([1, -2], [0, 1]));
    await both([2, 5], (x) => x.rot90(3));
    await both([2, 4], (x) => pad(x, [1, 2, 0, 3], 'constant', -7));
    await both([2, 4], (x) => pad(x, [-1, 2]));
    for (const mode of ['reflect', 'replicate', 'circular'] as const) {
      await both([3, 4], (x) => pad(x, [2, 3, 1, 0], mode));
    }
  });

  it('views with steps, diagonals and windows', async () => {
    await both([3, 7], (x) => x.slice(1, 1, null, 2));
    await both([4, 5], (x) => x.diagonal(-1));
    await both([2, 3], (x) => x.diagEmbed(1));
    await both([2, 9], (x) => x.unfold(1, 4, 2));
    await both([2, 9], (x) => x.unfold(1, 2, 3));
    await both([4, 5], (x) => x.tril(1).add(x.triu(-1)));
  });

  it('repeat, tile and repeatInterleave', async () => {
    await both([2, 3], (x) => x.repeat([2, 1, 2]));
    await both([2, 3], (x) => x.tile([2]));
    await both([2, 3], (x) => x.repeatInterleave(3, 1));
  });

  it('gather and scatter', async () => {
    const index = () => int([2, 3], 0, 3, 1, 2, 2, 2);
    await both([4, 3], (x) => x.gather(0, index()));
    await both([2, 4], (x) => x.gather(1, index()));
    await both([2, 4], (x) => x.scatter(1, int([2, 2], 0, 3, 1, 2), numbers([2, 3], 2)));
    await both([4, 3], (x) => x.scatterAdd(0, index(), numbers([2, 3], 2)));
    await both([2, 4], (x) => x.scatter(1, index(), 5));
  });

  it('indexing with tensors', async () => {
    await both([4, 3], (x) => x.indexSelect(0, int([3], 3, 0, 3)));
    await both([4, 3], (x) => embedding(x, int([2, 2], 3, 0, 3, 1)));
    await both([2, 3, 4], (x) => x.index([], int([2, 1], 0, -1), int([3], 1, 2, -4)));
    await both([2, 3, 4], (x) => x.index(int([2], 1, 0), [], int([2], 3, 3)));
    await both([3, 4], (x) => x.indexAdd(1, int([3], 0, 2, 2), numbers([3, 3], 2)));
    await both([3, 4], (x) => indexPut(x, [int([2], 2, 0), int([2], -1, 1)], numbers([2], 2)));
  });

  it('an index out of range reads NaN and writes nothing', async () => {
    await gpuOnly(() => numbers([3]).gather(0, int([2], 0, 7)), [false, true]);
    await gpuOnly(() => numbers([3]).indexSelect(0, int([2], -1, 1)), [true, false]);
    await gpuOnly(
      () => numbers([2]).indexAdd(0, int([1], 9), tensor([Number.NaN])),
      [false, false],
    );
  });

  it('sort and topk: stable, NaN last, both outputs', async () => {
    const values = () =>
      tensor([
        [3, 1, NaN, 1, -Infinity, 3],
        [0, Infinity, 2, NaN, NaN, 2],
      ]);
    for (const descending of [false, true]) {
      for (const which of [0, 1]) {
        await parity(() => values().sort(-1, descending)[which]!);
        await parity(() => numbers([3, 7, 2]).sort(1, descending)[which]!);
        await parity(() => values().topk(2, 1, descending)[which]!);
      }
    }
    await both([4, 5], (x) => x.sort(0)[0]);
    await both([4, 5], (x) => x.topk(3)[0]);
    const attrs = { dim: 0, descending: false, count: 2 };
    await parity(() => bind(opNamed('topk'), [tensor([true, false, true])], attrs)[1]!);
  });

  it('ranges and random draws', async () => {
    const close = { relative: 1e-6, absolute: 1e-6 };
    await parity(() => arange(2, 11, 3, { dtype: 'int32' }));
    await parity(() => arange(-1, 1, 0.25), close);
    await parity(() => linspace(0, 1, 7), close);
    await parity(() => eye(3, 5));
    const seeded = (body: () => Tensor) => () => {
      seed(3);
      return body();
    };
    await parity(seeded(() => randint(-3, 12, [40])));
    await parity(seeded(() => randperm(50)));
    await parity(seeded(() => bernoulli(tensor([0, 0.3, 0.5, 1]).repeat([20]))));
    await parity(seeded(() => multinomial(tensor([0.1, 0, 2, 0.4]), 3)));
    await parity(
      seeded(() =>
        multinomial(
          tensor([
            [0.1, 0, 2],
            [1, 1, 1],
          ]),
          9,
          true,
        ),
      ),
    );
  });

  it('place fills tensors of every dtype', async () => {
    const attrs = { shape: [2, 3], strides: [4], offset: 1, value: 1 };
    for (const x of [() => int([2], 5, 6), () => tensor([false, false]), () => numbers([2])]) {
      await parity(() => bind1(opNamed('place'), [x()], attrs));
    }
  });
});
