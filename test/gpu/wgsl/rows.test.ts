/** Softmax and its kin by workgroups, and a training step of another batch size. */

import { describe, expect, it } from 'vitest';
import { rowSharing } from '../../../runtime/device/gpu/wgsl/row-kernels.ts';
import {
  crossEntropy,
  deviceGuard,
  logSoftmax,
  nn,
  randn,
  relu,
  seed,
  softmax,
  type Tensor,
  tensor,
  tidy,
} from '../../../runtime/index.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';
import { expectParity } from '../parity.ts';

describe.skipIf(skipGpu)('gpu/wgsl/rows', () => {
  const gpu = gpuForTests();
  const same = (body: () => Tensor) =>
    expectParity(
      gpu(),
      () => {
        seed(12);
        return body();
      },
      { relative: 1e-4, absolute: 1e-5 },
    );

  it.each([
    [[1, 1], 0],
    [[5], 0],
    [[3, 31], 0],
    [[70, 32], 4],
    [[2, 9, 100], 16],
    [[3, 1023], 32],
    [[2, 1500], 32],
    [[2, 4097], 0],
    [[0, 4], 0],
  ])(
    'softmax and logSoftmax of %j, and their gradients; threads hold %i elements',
    async (shape, held) => {
      expect(rowSharing(shape.at(-1)!).held).toBe(held);
      for (const fn of [softmax, logSoftmax]) {
        await same(() => fn(randn(shape), -1));
        await same(() => {
          const x = randn(shape).requiresGrad_();
          fn(x, -1).mul(randn(shape)).sum().backward();
          return x.grad!;
        });
      }
    },
  );

  it('rows that are a view, and rows with infinities and NaN', async () => {
    await same(() => softmax(randn([40, 6]).permute([1, 0]), -1));
    await same(() => softmax(randn([40, 6, 2]).select(2, 1), 0));
    const row = (value: number) => Array.from({ length: 40 }, (_, i) => (i === 33 ? value : i / 9));
    await same(() => softmax(tensor([row(-Infinity), row(NaN), row(Infinity), row(1)]), -1));
  });

  it('a training step of another batch size compiles nothing', async () => {
    const [first, second] = deviceGuard(
      gpu(),
      () => [new nn.Linear(6, 16), new nn.Linear(16, 4)] as const,
    );
    const step = (batch: number) =>
      tidy(() =>
        deviceGuard(gpu(), () => {
          const labels = tensor(Int32Array.from({ length: batch }, (_, i) => i % 4));
          const scores = second.forward(relu(first.forward(randn([batch, 6]))));
          crossEntropy(scores, labels).backward();
        }),
      );
    // From the second step on gradients are added to those that are there.
    step(20);
    step(20);
    await gpu().synchronize();
    const { compiled } = gpu().kernelStats;
    step(21);
    step(17);
    // The threads that fold one output are a power of 2, from the length of the fold.
    step(31);
    await gpu().synchronize();
    expect(gpu().kernelStats.compiled).toBe(compiled);
    for (const parameter of [...first.parameters(), ...second.parameters()]) parameter.dispose();
  });
});
