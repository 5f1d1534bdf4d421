/** Your own kernels, which compute in float32, on operands of every dtype that they take. */

import { describe, it } from 'vitest';
import { type Tensor, tensor } from '../../../runtime/index.ts';
import { gpuKernel } from '../../../src/user-kernels/gpu-kernel.ts';
import { gpuForTests, nothingOnCpu, skipGpu } from '../open-gpu.ts';
import { expectParity } from '../parity.ts';
import { exact, expectSameEverywhere } from '../wgsl/checked.ts';

const mixed = gpuKernel(
  function mixed(a: number[][], b: number[][], c: number[]) {
    return (
      a[this.thread.y]![this.thread.x]! * 2 + b[this.thread.y]![this.thread.x]! * c[this.thread.x]!
    );
  },
  { shape: (a) => a, gradient: null },
);

const whole = (): Tensor =>
  tensor([
    [1, -2, 2 ** 24 + 1, 3],
    [2 ** 31 - 1, -(2 ** 31), 5, 6],
    [7, 8, 9, 10],
  ]);
const mask = (): Tensor => whole().gt(3);
const factors = (): Tensor => tensor([0.5, 1.5, -1, 2]);

describe.skipIf(skipGpu)('gpu/dtypes/user-kernels', () => {
  const gpu = gpuForTests();
  const expectNothingOnCpu = nothingOnCpu(gpu);

  it('read integers and bools, which are rounded to float32, of any strides', async () => {
    await expectParity(gpu(), () => mixed(whole(), mask(), factors()), exact);
    await expectParity(
      gpu(),
      () => mixed(whole().narrow(0, 1, 2), mask().narrow(0, 0, 2), factors()),
      exact,
    );
    await expectParity(
      gpu(),
      () => mixed(whole().t(), mask().t(), factors().narrow(0, 1, 3)),
      exact,
    );
  });

  it('the copies are in the predicted memory of a program, and in no other', async () => {
    const operands = (): [Tensor, Tensor, Tensor] => [whole(), mask(), factors()];
    const run = (x: Tensor, y: Tensor, z: Tensor) => [mixed(x.add(1), y, z).mul(2)];
    await expectSameEverywhere(gpu(), operands, run);
    expectNothingOnCpu();
  });
});
