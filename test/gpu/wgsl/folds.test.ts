/** Sums that workgroups share: gradients of convolutions by their weights, losses of many labels. */

import { describe, expect, it } from 'vitest';
import {
  conv2d,
  crossEntropy,
  deviceGuard,
  randn,
  seed,
  type Tensor,
  tensor,
} from '../../../runtime/index.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';
import { expectParity } from '../parity.ts';

interface Conv {
  readonly x: readonly number[];
  readonly w: readonly number[];
  readonly options?: Parameters<typeof conv2d>[3];
}

const convs: readonly Conv[] = [
  { x: [2, 3, 5, 6], w: [4, 3, 2, 3] },
  { x: [2, 3, 9, 8], w: [4, 3, 3, 3], options: { stride: 2, padding: 1 } },
  { x: [2, 4, 9, 9], w: [6, 2, 3, 2], options: { groups: 2, dilation: [2, 1] } },
  { x: [3, 4, 7, 7], w: [4, 1, 3, 3], options: { groups: 4, padding: [2, 0], stride: [1, 2] } },
  // Parts of each sum in workgroups of their own.
  { x: [9, 1, 28, 28], w: [8, 1, 3, 3], options: { padding: 1 } },
];

describe.skipIf(skipGpu)('gpu/wgsl/folds', () => {
  const gpu = gpuForTests();
  const same = (body: () => Tensor) =>
    expectParity(
      gpu(),
      () => {
        seed(6);
        return body();
      },
      { relative: 1e-4, absolute: 1e-3 },
    );

  function weightGradient({ x, w, options }: Conv, view = (t: Tensor) => t): Tensor {
    const weight = randn(w).requiresGrad_();
    const out = conv2d(view(randn(x)), weight, undefined, options);
    out.mul(randn(out.shape)).sum().backward();
    return weight.grad!;
  }

  it.each(convs)('the gradient of a convolution by its weight: %j', async (conv) => {
    await same(() => weightGradient(conv));
    await same(() =>
      weightGradient(conv, (t) => t.permute([0, 1, 3, 2]).contiguous().permute([0, 1, 3, 2])),
    );
  });

  it('bits are the same each time', async () => {
    const gradient = (batch: number) =>
      deviceGuard(gpu(), () => {
        seed(8);
        const weight = randn([3, 2, 3, 3]).requiresGrad_();
        const out = conv2d(randn([batch, 2, 6, 6]), weight);
        out.sum().backward();
        return weight.grad!.data();
      });
    const first = await gradient(4);
    expect(await gradient(4)).toEqual(first);
  });

  it.each([1, 3, 64, 65, 700, 5000])('cross entropy of %i rows', async (rows) => {
    const labels = Int32Array.from({ length: rows }, (_, i) => (i % 5 === 3 ? -100 : i % 4));
    await same(() => crossEntropy(randn([rows, 4]), tensor(labels)));
    await same(() => {
      const scores = randn([rows, 4]).requiresGrad_();
      crossEntropy(scores, tensor(labels)).backward();
      return scores.grad!;
    });
  });

  it('a label outside the classes makes the loss NaN', async () => {
    const loss = deviceGuard(gpu(), () =>
      crossEntropy(randn([3, 4]), tensor(new Int32Array([1, 4, 0]))),
    );
    expect(await loss.item()).toBeNaN();
    const ignored = deviceGuard(gpu(), () =>
      crossEntropy(randn([2, 4]), tensor(new Int32Array([-100, -100]))),
    );
    expect(await ignored.item()).toBeNaN();
  });
});
