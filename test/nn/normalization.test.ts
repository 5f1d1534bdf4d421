import { describe, expect, it } from 'vitest';
import * as nn from '../../runtime/nn/index.ts';
import { zeros } from '../../runtime/ops/movement/create.ts';
import { randn } from '../../runtime/ops/random/drawn.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, expectClose, type Tensor, tensor } from '../ops/eager.ts';

const values = (x: Tensor | null) => [...x!.dataSync()];

/** Mean and variance of each row. */
function moments(x: Tensor, rows: number): [number, number][] {
  const width = x.numel() / rows;
  const all = values(x);
  return Array.from({ length: rows }, (_, row) => {
    const own = all.slice(row * width, (row + 1) * width);
    const mean = own.reduce((sum, value) => sum + value, 0) / width;
    const variance = own.reduce((sum, value) => sum + (value - mean) ** 2, 0) / width;
    return [mean, variance];
  });
}

const expectStandard = (x: Tensor, rows: number) => {
  for (const [mean, variance] of moments(x, rows)) {
    expect(Math.abs(mean)).toBeLessThan(1e-5);
    expect(Math.abs(variance - 1)).toBeLessThan(1e-3);
  }
};

describe('normalization', () => {
  it('BatchNorm follows batches while training and uses what it has seen else', () => {
    const before = allocated();
    tidy(() => {
      using norm = new nn.BatchNorm2d(3, { momentum: 0.5 });
      const x = randn([4, 3, 5, 5]).mul(3).add(7);
      const y = norm.forward(x);
      expectStandard(y.transpose(0, 1).contiguous(), 3);
      const [mean] = moments(x.transpose(0, 1).contiguous(), 3)[0]!;
      expect(values(norm.runningMean)[0]).toBeCloseTo(mean / 2, 4);
      expect(values(norm.numBatchesTracked)).toEqual([1]);
      norm.eval();
      const again = norm.forward(x);
      expect(values(norm.numBatchesTracked)).toEqual([1]);
      const first =
        (values(x)[0]! - values(norm.runningMean)[0]!) / Math.sqrt(values(norm.runningVar)[0]!);
      expect(values(again)[0]).toBeCloseTo(first, 3);
      norm.resetRunningStats();
      expect([values(norm.runningMean), values(norm.runningVar)]).toEqual([
        [0, 0, 0],
        [1, 1, 1],
      ]);
    });
    expect(allocated()).toBe(before);
  });

  it('without a momentum, running values are the mean of all batches', () => {
    tidy(() => {
      using norm = new nn.BatchNorm1d(1, { momentum: null });
      for (const batch of [
        [1, 3],
        [5, 9],
        [0, 4],
      ])
        norm.forward(tensor(batch).reshape([2, 1]));
      expectClose(values(norm.runningMean), [(2 + 7 + 2) / 3], 'mean');
      expectClose(values(norm.runningVar), [(2 + 8 + 8) / 3], 'variance');
    });
  });

  it('BatchNorm without running values always uses the batch, and refuses other shapes', () => {
    tidy(() => {
      using norm = new nn.BatchNorm1d(2, { trackRunningStats: false, affine: false });
      norm.eval();
      expect(Object.keys(norm.stateDict())).toEqual([]);
      expectStandard(
        norm
          .forward(randn([50, 2]))
          .transpose(0, 1)
          .contiguous(),
        2,
      );
      expect(() => norm.forward(zeros([2, 3]))).toThrow(
        'BatchNorm1d: the layer takes 2 channels, not 3',
      );
      expect(() => norm.forward(zeros([2, 2, 2, 2]))).toThrow('2 or 3 dimensions');
      expect(() => norm.forward(zeros([1, 2]))).toThrow('one value per channel');
    });
  });

  it('InstanceNorm, GroupNorm, LayerNorm and RMSNorm normalize their parts', () => {
    const before = allocated();
    tidy(() => {
      const x = randn([2, 4, 3, 5]).mul(2).add(1);
      expectStandard(new nn.InstanceNorm2d(4).forward(x), 8);
      using group = new nn.GroupNorm(2, 4);
      expectStandard(group.forward(x), 4);
      using layer = new nn.LayerNorm([3, 5]);
      expectStandard(layer.forward(x), 8);
      using weightOnly = new nn.LayerNorm(5, { bias: false });
      expect(Object.keys(weightOnly.stateDict())).toEqual(['weight']);
      expect(new nn.LayerNorm(5, { elementwiseAffine: false }).parameters()).toEqual([]);
      using rms = new nn.RMSNorm(2);
      expectClose(
        values(rms.forward(tensor([3, 4]))),
        [3 / Math.sqrt(12.5), 4 / Math.sqrt(12.5)],
        'rms',
      );
      using tracked = new nn.InstanceNorm1d(4, { trackRunningStats: true, affine: true });
      tracked.forward(x.flatten(2));
      // PyTorch's layer has the count too, and leaves it at 0.
      expect(values(tracked.numBatchesTracked)).toEqual([0]);
      expect(tracked.parameters().length).toBe(2);
    });
    expect(allocated()).toBe(before);
  });
});
