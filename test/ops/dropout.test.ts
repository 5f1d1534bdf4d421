import { describe, expect, it } from 'vitest';
import { ones, zeros } from '../../runtime/ops/movement/create.ts';
import {
  alphaDropout,
  dropout,
  featureAlphaDropout,
  featureDropout,
} from '../../runtime/ops/random/dropout.ts';
import { seed } from '../../runtime/random/seed.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated } from './eager.ts';

const values = (x: { dataSync(): ArrayLike<number> }) => Array.from(x.dataSync());

describe('dropout', () => {
  it('zeroes a part, enlarges the rest, and sends gradients the same way', () => {
    const before = allocated();
    tidy(() => {
      seed(3);
      const x = ones([4000]).requiresGrad_();
      const y = dropout(x, 0.25);
      const kept = values(y).filter((value) => value !== 0);
      expect(new Set(kept)).toEqual(new Set([Math.fround(1 / 0.75)]));
      expect(Math.abs(kept.length / 4000 - 0.75)).toBeLessThan(0.03);
      y.sum().backward();
      expect(values(x.grad!)).toEqual(values(y));
      x.grad!.dispose();
    });
    expect(allocated()).toBe(before);
  });

  it('keeps one byte per element for backward', () => {
    using x = ones([64_000]).requiresGrad_();
    const before = allocated();
    using y = dropout(x, 0.5);
    expect(y.requiresGrad).toBe(true);
    expect(allocated() - before).toBe(64_000 * 4 + 64_000);
  });

  it('is the tensor itself in evaluation, zero at p = 1, and refuses other numbers', () => {
    tidy(() => {
      const x = ones([3]);
      expect(dropout(x, 0.5, false)).toBe(x);
      expect(dropout(x, 0)).toBe(x);
      expect(values(dropout(x, 1))).toEqual([0, 0, 0]);
      for (const p of [-0.1, 1.1, Number.NaN]) {
        expect(() => dropout(x, p)).toThrow('dropout: not a probability');
      }
    });
  });

  it('featureDropout zeroes whole channels', () => {
    tidy(() => {
      seed(1);
      const planes = featureDropout(ones([8, 8, 3, 3]), 0.5).reshape([64, 9]);
      const sums = values(planes.sum(1));
      expect(new Set(sums)).toEqual(new Set([0, 18]));
      expect(() => featureDropout(ones([3]))).toThrow('featureDropout: no channels');
    });
  });

  it('alphaDropout keeps mean and variance', () => {
    tidy(() => {
      seed(1);
      const x = zeros([20_000]);
      const noisy = x.add(alphaDropout(ones([20_000]).mul(0), 0.3));
      // Of zeros, the mean is p·lowest moved to 0.
      expect(Math.abs(noisy.mean().itemSync())).toBeLessThan(0.02);
      const kept = values(alphaDropout(zeros([1000]), 0.3));
      expect(new Set(kept).size).toBe(2);
    });
  });

  it('featureAlphaDropout sets whole channels to the values of alphaDropout', () => {
    tidy(() => {
      seed(1);
      const planes = values(featureAlphaDropout(zeros([8, 8, 3, 3]), 0.5).reshape([64, 9]));
      const [low, high] = [...new Set(planes)].sort((a, b) => a - b);
      // What PyTorch computes of zeros.
      expect(low).toBeCloseTo(-0.7792, 4);
      expect(high).toBeCloseTo(0.7792, 4);
      for (let at = 0; at < planes.length; at++) {
        expect(planes[at]).toBe(planes[at - (at % 9)]);
      }
      const x = ones([2, 2]);
      expect(featureAlphaDropout(x, 0.5, false)).toBe(x);
      expect(featureAlphaDropout(x, 0)).toBe(x);
      expect(values(featureAlphaDropout(x, 1))).toEqual([0, 0, 0, 0]);
      expect(() => featureAlphaDropout(ones([3]))).toThrow('featureAlphaDropout: no channels');
    });
  });
});
