/** A sum done in steps has the bits of one sum, where its steps end as the ops' records say. */

import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Attrs } from '../../runtime/device/kernel-op.ts';
import { productBlock } from '../../runtime/numerics/blocks.ts';
import { bind1 } from '../../runtime/ops/core/bind.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import { memory, noGrad, randn, seed, type Tensor, tidy, zeros } from '../../src/index.ts';

const bytesNow = () => memory.stats('cpu').allocated;
let before = 0;
beforeEach(() => {
  before = bytesNow();
  seed(3);
});
afterEach(() => {
  expect(bytesNow()).toBe(before);
});

const run = (name: string, inputs: readonly Tensor[], attrs: Attrs = {}): Tensor =>
  noGrad(() => bind1(opNamed(name), inputs, attrs));

function expectEqualBits(a: Tensor, b: Tensor): void {
  const bits = (x: Tensor) => new Int32Array((x.dataSync() as Float32Array).buffer.slice(0));
  expect(bits(a)).toEqual(bits(b));
}

/** [m,k] · [k,n] with the inner dimension ending its steps at the given places. */
function productInSteps(m: number, n: number, k: number, ends: readonly number[]): void {
  tidy(() => {
    const [a, b] = [randn([m, k]), randn([n, k]).transpose(0, 1)];
    const part = (from: number, to: number) =>
      [a.narrow(1, from, to - from), b.narrow(0, from, to - from)] as const;
    const sum = run('matmul', part(0, ends[0]!));
    for (const [i, start] of ends.entries()) {
      run('addMatmul_', [sum, ...part(start, ends[i + 1] ?? k)], { start });
    }
    expectEqualBits(sum, run('matmul', [a, b]));
  });
}

it.each([
  [4, 8],
  [1, 1],
  [5, 9],
  [33, 70],
])('products of %i rows and %i columns, within a block and from block to block', (m, n) => {
  productInSteps(m, n, 200, [1, 50, 51, 150]);
  productInSteps(m, n, productBlock, [64, 128, 192]);
  productInSteps(m, n, 3 * productBlock + 7, [100, productBlock, 3 * productBlock]);
});

it('a product that goes on inside of a later block has other bits: the condition is needed', () => {
  expect(() => productInSteps(33, 70, 2 * productBlock, [productBlock + 100])).toThrow();
});

it.each([1, 3, 7, 40])('products of %i rows have the bits of the same rows among more', (rows) => {
  tidy(() => {
    const [a, b] = [randn([41, 300]), randn([300, 37])];
    const whole = run('matmul', [a, b]);
    expectEqualBits(run('matmul', [a.narrow(0, 1, rows), b]), whole.narrow(0, 1, rows).clone());
  });
});

it.each([
  [6, 3, 5, 20, 1],
  [4, 1, 4, 28, 1],
  [5, 6, 6, 7, 3],
])('weights of a convolution, image by image (%i images)', (images, from, to, size, groups) => {
  tidy(() => {
    const x = randn([images, from, size, size]);
    const dy = randn([images, to, size, size]);
    const w = zeros([to, from / groups, 3, 3]);
    const attrs = { stride: [1, 1], padding: [1, 1], dilation: [1, 1], groups };
    const part = (start: number, length: number) =>
      [dy.narrow(0, start, length), x.narrow(0, start, length)] as const;
    const sum = run('conv2dWeightGrad', [...part(0, 1), w], attrs);
    run('addConv2dWeightGrad_', [sum, ...part(1, 2), w], attrs);
    run('addConv2dWeightGrad_', [sum, ...part(3, images - 3), w], attrs);
    expectEqualBits(sum, run('conv2dWeightGrad', [dy, x, w], attrs));
  });
});

it.each([
  // images, channels, results, size, kernel, stride, dilation, parts
  [1, 3, 40, 9, 3, 1, 1, 8],
  [5, 8, 24, 12, 3, 2, 1, 4],
  [2, 17, 10, 20, 5, 1, 2, 2],
  [3, 1, 48, 33, 7, 4, 1, 8],
  [8, 24, 96, 2, 3, 2, 1, 8],
] as const)('weights of a convolution by output channels: %i images of %i to %i', (...sizes) => {
  const [images, from, to, size, kernel, stride, dilation, parts] = sizes;
  tidy(() => {
    const x = randn([images, from, size, size]);
    const w = zeros([to, from, kernel, kernel]);
    const padding = kernel >> 1;
    const attrs = {
      stride: [stride, stride],
      padding: [padding, padding],
      dilation: [dilation, dilation],
      groups: 1,
    };
    const dy = randn(run('conv2d', [x, w], attrs).shape);
    const whole = run('conv2dWeightGrad', [dy, x, w], attrs);
    const own = to / parts;
    for (let part = 0; part < parts; part++) {
      const rows = [part * own, own] as const;
      const [cut, shape] = [dy.narrow(1, ...rows).contiguous(), w.narrow(0, ...rows)];
      expectEqualBits(run('conv2dWeightGrad', [cut, x, shape], attrs), whole.narrow(0, ...rows));
    }
  });
});

it.each([4, 17, 96])('weights of a layer norm over %i entries, row by row', (width) => {
  tidy(() => {
    const rows = 50;
    const [x, dy, weight] = [randn([rows, width]), randn([rows, width]), randn([width])];
    const stats = randn([rows, 2]);
    const attrs = (count: number) => ({
      view: [count, width],
      over: [1],
      weightShape: [width],
      eps: 1e-5,
      centered: true,
    });
    const part = (start: number, length: number) =>
      [dy, x, stats].map((own) => own.narrow(0, start, length)) as [Tensor, Tensor, Tensor];
    const sum = run('standardizeWeightGrad', [...part(0, 7), weight], attrs(7));
    run('addStandardizeWeightGrad_', [sum, ...part(7, 43), weight], attrs(43));
    expectEqualBits(sum, run('standardizeWeightGrad', [dy, x, stats, weight], attrs(rows)));
  });
});

it.each([
  [
    [9, 5, 30],
    [0, 2],
  ],
  [
    [8, 3, 28, 28],
    [0, 2, 3],
  ],
  [
    [6, 130, 2, 3],
    [0, 2, 3],
  ],
])('sums of %j by channel, image by image', (shape, dims) => {
  tidy(() => {
    const x = randn(shape);
    const attrs = { dims, keepDim: false };
    const sum = run('sum', [x.narrow(0, 0, 2)], attrs);
    run('addSum_', [sum, x.narrow(0, 2, 1)], { dims });
    run('addSum_', [sum, x.narrow(0, 3, shape[0]! - 3)], { dims });
    expectEqualBits(sum, run('sum', [x], attrs));
  });
});
