import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as scalar from '../../runtime/device/cpu/conv/scalar-conv.ts';
import { compute, error, noise, release, type Sample, sample } from './samples.ts';

type Pair = [number, number];

interface Case {
  readonly batch: number;
  readonly groups: number;
  readonly channels: Pair;
  readonly size: Pair;
  readonly kernel: Pair;
  readonly stride: Pair;
  readonly padding: Pair;
  readonly dilation: Pair;
}

function outSize({ size, kernel, stride, padding, dilation }: Case): Pair {
  const along = (d: 0 | 1) =>
    Math.floor((size[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d]) + 1;
  return [along(0), along(1)];
}

/** The defining sum in float64, and its two gradients for the output gradient `dy`. */
function reference(c: Case, x: Sample, w: Sample, dy: Sample) {
  const [outHeight, outWidth] = outSize(c);
  const [inChannels, outChannels] = c.channels;
  const [height, width] = c.size;
  const y = new Array<number>(dy.values.length).fill(0);
  const dx = new Array<number>(x.values.length).fill(0);
  const dw = new Array<number>(w.values.length).fill(0);
  y.forEach((_, at) => {
    const ow = at % outWidth;
    const oh = Math.floor(at / outWidth) % outHeight;
    const o = Math.floor(at / outWidth / outHeight) % (outChannels * c.groups);
    const n = Math.floor(at / outWidth / outHeight / outChannels / c.groups);
    const group = Math.floor(o / outChannels);
    for (let i = 0; i < inChannels; i++) {
      for (let kh = 0; kh < c.kernel[0]; kh++) {
        for (let kw = 0; kw < c.kernel[1]; kw++) {
          const h = oh * c.stride[0] - c.padding[0] + kh * c.dilation[0];
          const v = ow * c.stride[1] - c.padding[1] + kw * c.dilation[1];
          if (h < 0 || h >= height || v < 0 || v >= width) continue;
          const channel = (n * c.groups + group) * inChannels + i;
          const xi = (channel * height + h) * width + v;
          const wi = ((o * inChannels + i) * c.kernel[0] + kh) * c.kernel[1] + kw;
          y[at]! += x.values[xi]! * w.values[wi]!;
          dx[xi]! += dy.values[at]! * w.values[wi]!;
          dw[wi]! += dy.values[at]! * x.values[xi]!;
        }
      }
    }
  });
  return { y, dx, dw };
}

function check(c: Case, tolerance = 1e-5): void {
  const [outHeight, outWidth] = outSize(c);
  if (outHeight < 1 || outWidth < 1) return;
  const [inChannels, outChannels] = c.channels;
  const x = sample('float32', [c.batch, inChannels * c.groups, ...c.size], noise(1));
  const w = sample('float32', [outChannels * c.groups, inChannels, ...c.kernel], noise(2));
  const dy = sample('float32', [c.batch, outChannels * c.groups, outHeight, outWidth], noise(3));
  const { stride, padding, dilation, groups } = c;
  const attrs = { stride, padding, dilation, groups };
  const expected = reference(c, x, w, dy);
  const runs = [
    ['conv2d', scalar.conv2d, [x, w], dy, expected.y],
    ['conv2dInputGrad', scalar.conv2dInputGrad, [dy, w, x], x, expected.dx],
    ['conv2dWeightGrad', scalar.conv2dWeightGrad, [dy, x, w], w, expected.dw],
  ] as const;
  for (const [name, fallback, inputs, like, values] of runs) {
    const outputs = [{ dtype: 'float32' as const, shape: like.meta.shape }];
    expect(error(compute(name, inputs, outputs, attrs)[0]!, values), name).toBeLessThan(tolerance);
    expect(error(compute(fallback, inputs, outputs, attrs)[0]!, values), name).toBeLessThan(
      tolerance,
    );
  }
  release(x, w, dy);
}

const pair = (min: number, max: number) =>
  fc.tuple(fc.integer({ min, max }), fc.integer({ min, max }));

describe('conv2d and its gradients', () => {
  it('hold for any sizes, strides, paddings, dilations and groups', () => {
    const cases = fc.record({
      batch: fc.integer({ min: 0, max: 3 }),
      groups: fc.integer({ min: 1, max: 2 }),
      channels: pair(0, 5),
      size: pair(1, 13),
      kernel: pair(1, 4),
      stride: pair(1, 3),
      padding: pair(0, 4),
      dilation: pair(1, 2),
    });
    fc.assert(
      fc.property(cases, (c) => check(c)),
      { numRuns: 150 },
    );
  });

  const plain = { batch: 1, groups: 1, stride: [1, 1], dilation: [1, 1] } as const;
  const base = { ...plain, stride: [1, 1] as Pair, dilation: [1, 1] as Pair };

  it('cross the edges of blocks', () => {
    // More than 128 output channels, and patches of more than 256 rows that cut a channel.
    check({ ...base, channels: [30, 131], size: [6, 6], kernel: [3, 3], padding: [1, 1] });
    check({ ...base, channels: [2, 3], size: [27, 27], kernel: [17, 17], padding: [8, 8] });
    // More than 512 positions.
    check({ ...base, batch: 2, channels: [2, 3], size: [25, 29], kernel: [3, 3], padding: [1, 1] });
  });

  it('hold where a padded image is larger than scratch memory', () => {
    const size: Pair = [2, 125_000];
    check({ ...base, channels: [1, 1], size, kernel: [3, 3], padding: [1, 1] }, 1e-4);
  });
});
