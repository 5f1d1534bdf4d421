/** Kernels of some 40 µs, of which small models have many: they are divided, and by their sizes alone. */

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { pool } from '../../runtime/device/cpu/threads/pool.ts';
import { Team } from '../../runtime/device/cpu/threads/team.ts';
import {
  conv2d,
  init,
  layerNorm,
  logSoftmax,
  matmul,
  noGrad,
  randn,
  softmax,
  type Tensor,
  tidy,
} from '../../src/index.ts';

beforeAll(async () => {
  await init('cpu', { threads: 4 });
});

afterAll(() => {
  pool.threads = 1;
});

/** The bits of the results on so many threads, and into how many parts each of their kernels was divided. */
function on(
  threads: number,
  compute: () => readonly Tensor[],
): { bits: string[]; parts: number[] } {
  pool.threads = threads;
  const run = vi.spyOn(pool, 'run');
  // Whatever the machine does meanwhile: sharing of the shortest kernels depends on it.
  const awake = vi.spyOn(Team.prototype, 'isAwake', 'get').mockReturnValue(true);
  let bits: string[] = [];
  tidy(() => {
    bits = compute().map((x) => {
      const { buffer, byteOffset, byteLength } = x.dataSync();
      return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
    });
  });
  const parts = run.mock.calls.map(([, count]) => count);
  run.mockRestore();
  awake.mockRestore();
  return { bits, parts };
}

function expectDivided(compute: () => readonly Tensor[], kernels: number): void {
  const alone = on(1, compute);
  expect(alone.parts).toEqual([]);
  const [two, four] = [on(2, compute), on(4, compute)];
  expect(two.bits).toEqual(alone.bits);
  expect(four.bits).toEqual(alone.bits);
  expect(two.parts.filter((count) => count >= 2).length).toBeGreaterThanOrEqual(kernels);
  expect(four.parts).toEqual(two.parts);
}

describe('threads/small kernels', () => {
  it.each([
    [512, 24, 24],
    [32, 96, 96],
    [8, 192, 192],
    [192, 8, 192],
    [512, 24, 96],
    [512, 96, 24],
    [128, 96, 96],
    [24, 512, 96],
    [96, 512, 24],
    [32, 192, 192],
    [400, 52, 40],
    [33, 500, 65],
  ])('a product of %i × %i × %i has parts for two threads', (m, k, n) => {
    const [a, b] = [randn([m, k]), randn([k, n])];
    const [at, bt] = [randn([k, m]).t(), randn([n, k]).t()];
    expectDivided(() => noGrad(() => [matmul(a, b)]), 1);
    expectDivided(() => noGrad(() => [matmul(at, bt)]), 1);
  });

  it.each([
    [8, 96, 192, 2, 2],
    [8, 48, 96, 4, 2],
    [8, 24, 48, 8, 2],
    [3, 40, 60, 13, 3],
    [1, 70, 90, 5, 2],
  ])(
    'the gradient of a convolution of %i images, %i → %i channels of side %i, stride %i: its phases are one job',
    (batch, from, to, side, stride) => {
      const weight = randn([to, from, 3, 3]);
      const image = randn([batch, from, side, side]);
      const out = Math.floor((side - 1) / stride) + 1;
      const slope = randn([batch, to, out, out]);
      const compute = () => gradientOf(image, weight, slope, stride);
      const alone = on(1, compute);
      const [two, four] = [on(2, compute), on(4, compute)];
      expect(two.bits).toEqual(alone.bits);
      expect(four.bits).toEqual(alone.bits);
      // The convolution and its gradient.
      expect(two.parts).toHaveLength(2);
      expect(Math.min(...two.parts)).toBeGreaterThanOrEqual(2);
      expect(four.parts).toEqual(two.parts);
    },
  );

  it.each([
    [8, 96, 1, 1, 2],
    [64, 12, 1, 1, 8],
    [8, 75, 1, 2, 4],
    [5, 23, 2, 3, 6],
  ])(
    '%i images of %i groups, %i → %i channels of side %i: parts are several groups, as even as they can be',
    (batch, groups, from, to, side) => {
      const image = randn([batch, groups * from, side, side]);
      const [weight, slope] = [
        randn([groups * to, from, 3, 3]),
        randn([batch, groups * to, side, side]),
      ];
      const compute = (): readonly Tensor[] => {
        const [x, w] = [image, weight].map((leaf) => leaf.detach().requiresGrad_()) as [
          Tensor,
          Tensor,
        ];
        const out = conv2d(x, w, undefined, { padding: 1, groups });
        out.backward(slope);
        return [out.detach(), x.grad!, w.grad!];
      };
      expectDivided(compute, 3);
      const { parts } = on(2, compute);
      expect(Math.max(...parts)).toBeLessThanOrEqual(16);
    },
  );

  it('parts of a convolution with more weights than positions share no weights', () => {
    const [image, weight] = [randn([8, 96, 2, 2]), randn([192, 96, 3, 3])];
    const run = vi.spyOn(pool, 'run');
    const options = { stride: 2, padding: 1 };
    pool.threads = 2;
    noGrad(() => conv2d(image, weight, undefined, options)).dispose();
    const [[, parts, arity]] = run.mock.calls as [Parameters<typeof pool.run>];
    const weights = Array.from({ length: parts }, (_, part) => pool.numbers[part * arity + 2]);
    expect(new Set(weights).size).toBe(parts);
    run.mockRestore();
  });

  it.each([
    [64, 1, 16, 28, 3],
    [8, 3, 16, 32, 3],
    [64, 16, 32, 14, 3],
    [16, 9, 24, 16, 3],
    [32, 5, 40, 10, 5],
  ])(
    'the weight gradient of %i images, %i → %i channels of %i × %i, is divided evenly',
    (batch, from, to, side, kernel) => {
      const image = randn([batch, from, side, side]);
      const slope = randn([batch, to, side, side]);
      const weight = randn([to, from, kernel, kernel]);
      const compute = (): readonly Tensor[] => {
        const leaf = weight.detach().requiresGrad_();
        conv2d(image, leaf, undefined, { padding: kernel >> 1 }).backward(slope);
        return [leaf.grad!];
      };
      expectDivided(compute, 2);
      // The convolution itself comes first.
      const [, count] = on(2, compute).parts;
      expect(count! % 2).toBe(0);
    },
  );

  it('a kernel that is shared has two parts at least, the element-wise ones of every length', () => {
    const single = (length: number) => {
      const [x, y] = [randn([length]), randn([length])];
      const compute = () =>
        noGrad(() => [x.add(y), x.tanh(), x.exp(), x.reshape([-1, 4]).t().add(1)]);
      return on(2, compute).parts.filter((parts) => parts < 2);
    };
    const lengths = Array.from({ length: 40 }, (_, i) => 4 * Math.round(250 * 1.2 ** i));
    expect(lengths.map(single)).toEqual(lengths.map(() => []));
  });

  it.each([
    [512, 24],
    [1000, 8],
    [128, 96],
    [67, 300],
  ])('norms and softmax of %i short rows of %i, and their gradients', (rows, length) => {
    const [x, slope, weight, bias] = [
      randn([rows, length]),
      randn([rows, length]),
      randn([length]),
      randn([length]),
    ];
    const gradOf = (apply: (x: Tensor) => Tensor): readonly Tensor[] => {
      const leaf = x.detach().requiresGrad_();
      const out = apply(leaf);
      out.backward(slope);
      return [out.detach(), leaf.grad!];
    };
    expectDivided(() => gradOf((leaf) => layerNorm(leaf, [length], weight, bias)), 2);
    expectDivided(() => noGrad(() => [softmax(x, -1)]), 1);
    expectDivided(() => gradOf((leaf) => logSoftmax(leaf, -1)), 2);
  });

  it('depthwise convolutions of few positions are divided while threads are awake', () => {
    const [image, weight] = [randn([8, 64, 4, 4]), randn([64, 1, 3, 3])];
    const options = { padding: 1, groups: 64 };
    expectDivided(() => noGrad(() => [conv2d(image, weight, undefined, options)]), 1);
    vi.spyOn(Team.prototype, 'isAwake', 'get').mockReturnValue(false);
    try {
      pool.threads = 2;
      const run = vi.spyOn(pool, 'run');
      noGrad(() => conv2d(image, weight, undefined, options)).dispose();
      expect(run).not.toHaveBeenCalled();
    } finally {
      vi.restoreAllMocks();
    }
  });

  it('large products have eight parts for each thread: each packs both factors', () => {
    // Kernels are kept by size, with the parts for the threads that there were.
    const parts = ([threads, size]: readonly [number, number]) => {
      const [a, b] = [randn([size, size]), randn([size, size])];
      return on(threads, () => noGrad(() => [matmul(a, b)])).parts;
    };
    expect(
      (
        [
          [2, 512],
          [4, 528],
        ] as const
      ).map(parts),
    ).toEqual([[16], [32]]);
  });
});

function gradientOf(
  image: Tensor,
  weight: Tensor,
  slope: Tensor,
  stride: number,
): readonly Tensor[] {
  const leaf = image.detach().requiresGrad_();
  const out = conv2d(leaf, weight, undefined, { stride, padding: 1 });
  out.backward(slope);
  return [out.detach(), leaf.grad!];
}
