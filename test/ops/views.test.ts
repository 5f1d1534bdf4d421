import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import { ChannelShuffle } from '../../runtime/nn/shaping.ts';
import { pixelShuffle, pixelUnshuffle } from '../../runtime/ops/convolution/resample.ts';
import { diag } from '../../runtime/ops/movement/views.ts';
import { im2col } from '../../runtime/ops/movement/windows.ts';
import { amin } from '../../runtime/ops/reduce/extremes.ts';
import { nansum } from '../../runtime/ops/reduce/statistics.ts';
import { sizeOf } from '../../runtime/spec/shape.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { spread, type Tensor, tensor } from './eager.ts';

const shapes = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 });

/** Cuts a number of elements into dimensions. */
function cut(size: number, wishes: readonly number[]): number[] {
  const dims: number[] = [];
  let left = size;
  for (const wish of wishes) {
    const dim = left % wish === 0 ? wish : 1;
    dims.push(dim);
    left /= dim;
  }
  return [...dims, left];
}

describe('views', () => {
  it('reshape of any strided tensor gives its elements in row-major order', () => {
    let views = 0;
    let copies = 0;
    const sample = fc.record({
      shape: shapes,
      order: fc.array(fc.nat(), { minLength: 4, maxLength: 4 }),
      wishes: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 4 }),
      from: fc.nat(3),
    });
    fc.assert(
      fc.property(sample, ({ shape, order, wishes, from }) => {
        tidy(() => {
          const x = tensor(spread(shape), { shape });
          const dims = shape.map((_, d) => d).sort((a, b) => order[a]! - order[b]! || a - b);
          const permuted = x.permute(dims);
          const first = permuted.shape[0]!;
          const start = Math.min(from, first - 1);
          const strided = permuted.narrow(0, start, first - start);
          const reshaped = strided.reshape(cut(sizeOf(strided.shape), wishes));
          if (reshaped.holder === x.holder) views++;
          else copies++;
          expect([...reshaped.dataSync()]).toEqual([...strided.dataSync()]);
        });
      }),
      { seed: 1, numRuns: 300 },
    );
    expect(views).toBeGreaterThan(50);
    expect(copies).toBeGreaterThan(20);
  });

  it('share the memory: a write through one is seen through all', () => {
    tidy(() => {
      const x = tensor([
        [1, 2, 3],
        [4, 5, 6],
      ]);
      const column = x.select(1, 1);
      const row = x.transpose(0, 1).narrow(1, 1, 1).squeeze(1);
      const deep = x.transpose(0, 1).unsqueeze(0);
      noGrad(() => column.fill_(0));
      expect([...x.dataSync()]).toEqual([1, 0, 3, 4, 0, 6]);
      expect([...row.dataSync()]).toEqual([4, 0, 6]);
      expect([...deep.dataSync()]).toEqual([1, 4, 0, 0, 3, 6]);
      expect([column, row, deep].every(({ holder }) => holder === x.holder)).toBe(true);
    });
  });

  it('writes of strided targets touch nothing else', () => {
    tidy(() => {
      const x = tensor([
        [1, 2, 3],
        [4, 5, 6],
      ]);
      const inner = x.transpose(0, 1).narrow(0, 1, 2);
      noGrad(() => {
        inner.add_(tensor([[10], [20]]));
        inner.mul_(2);
        inner.select(0, 0).copy_(tensor([7, 8]));
      });
      expect([...x.dataSync()]).toEqual([1, 7, 46, 4, 8, 52]);
    });
  });

  it('expanded dimensions have stride 0 and read the same element', () => {
    tidy(() => {
      const x = tensor([[1], [2]]).expand([3, -1, 2]);
      expect([x.shape, x.strides]).toEqual([
        [3, 2, 2],
        [0, 1, 0],
      ]);
      expect([...x.dataSync()]).toEqual([1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2]);
      expect([...x.sum([0, 2]).dataSync()]).toEqual([6, 12]);
    });
  });

  it('are not the results of reductions of a scalar, and of arrangements that move nothing', () => {
    tidy(() => {
      const image = tensor(spread([1, 4, 1, 1]), { shape: [1, 4, 1, 1] });
      const matrix = tensor(spread([2, 2]), { shape: [2, 2] });
      const of = (x: Tensor, results: Tensor[]) =>
        results.filter(({ holder }) => holder === x.holder).length;
      const shared = (['float32', 'float64', 'int32', 'bool'] as const).map((dtype) => {
        const x = tensor(1, { dtype });
        return of(x, [
          x.sum(),
          x.sum(0),
          x.amax(),
          amin(x, 0, { keepDim: true }),
          x.max(),
          nansum(x),
        ]);
      });
      expect(shared).toEqual([0, 0, 0, 0]);
      expect(of(matrix, [diag(matrix)])).toBe(0);
      const shuffled = [pixelShuffle(image, 1), pixelShuffle(image, 2), pixelUnshuffle(image, 1)];
      expect(of(image, [...shuffled, im2col(image, 1), new ChannelShuffle(1).forward(image)])).toBe(
        0,
      );
    });
  });
});
