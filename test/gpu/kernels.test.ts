import { describe, expect, it } from 'vitest';
import { conv2d } from '../../runtime/ops/convolution/conv.ts';
import { maxPool2d } from '../../runtime/ops/convolution/max-pool.ts';
import { bind, bind1 } from '../../runtime/ops/core/bind.ts';
import { tensor } from '../../runtime/ops/core/create.ts';
import { crossEntropy, nllLoss } from '../../runtime/ops/loss/class-losses.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import { rand } from '../../runtime/ops/random/drawn.ts';
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

const noise: Tolerance = { relative: 1e-5, absolute: 2e-6 };

describe.skipIf(skipGpu)('gpu/kernels', () => {
  const gpu = gpuForTests();
  const parity = (body: () => Tensor, tolerance: Tolerance = noise) =>
    expectParity(gpu(), body, tolerance);

  it('sum over each set of dimensions', async () => {
    const x = () => numbers([3, 4, 5]);
    for (const dims of [0, 1, 2, [0, 1], [0, 2], [1, 2], undefined] as const) {
      await parity(() => x().sum(dims));
      await parity(() => x().sum(dims, { keepDim: true }));
      await parity(() => x().permute([2, 0, 1]).sum(dims));
    }
    await parity(() => tensor(new Int32Array([1, 2, 3])).sum());
    await parity(() => tensor([true, true, false]).sum());
  });

  it('sum over a dimension of size 0 is 0', async () => {
    await parity(() => numbers([0, 3]).sum(0));
    await parity(() => numbers([3, 0]).sum(1));
  });

  it('sum of long rows in two stages', async () => {
    await parity(() => numbers([5003]).sum(), { relative: 1e-4, absolute: 1e-3 });
    await parity(() => numbers([3, 1500]).sum(1), { relative: 1e-4, absolute: 1e-3 });
    await parity(() => numbers([41, 3, 37]).transpose(0, 1).sum([1, 2]), {
      relative: 1e-4,
      absolute: 1e-3,
    });
    await parity(() => numbers([3, 1500]).amax(1));
  });

  it('max and argmax, NaN and ties included', async () => {
    const x = () => numbers([4, 3, 5]);
    for (const dim of [0, 1, 2]) {
      await parity(() => x().amax(dim));
      await parity(() => x().argmax(dim));
      await parity(() => x().transpose(0, 2).argmax(dim));
    }
    await parity(() => x().max());
    const rows = () =>
      tensor([
        [1, 3, 3],
        [NaN, 5, NaN],
        [-Infinity, -Infinity, -Infinity],
        [2, NaN, 9],
      ]);
    await parity(() => rows().amax(1));
    await parity(() => rows().argmax(1));
  });

  it('sumTo undoes broadcasting', async () => {
    const sumTo = opNamed('sumTo');
    for (const like of [[4, 5], [1, 5], [4, 1], [3, 1, 5], [1], []]) {
      await parity(() => bind1(sumTo, [numbers([3, 4, 5]), numbers(like)]));
    }
  });

  it('matmul of matrices, batches, vectors and views', async () => {
    await parity(() => numbers([5, 7]).matmul(numbers([7, 3], 2)));
    await parity(() => numbers([1, 1]).matmul(numbers([1, 1], 2)));
    await parity(() =>
      numbers([7, 5])
        .transpose(0, 1)
        .matmul(numbers([3, 7], 2).transpose(0, 1)),
    );
    await parity(() => numbers([2, 3, 4]).matmul(numbers([2, 4, 5], 2)));
    await parity(() => numbers([2, 3, 4]).matmul(numbers([4, 5], 2)));
    await parity(() => numbers([2, 1, 3, 4]).matmul(numbers([3, 4, 2], 2)));
    await parity(() => numbers([6]).matmul(numbers([6, 2], 2)));
    await parity(() =>
      numbers([4, 9])
        .narrow(1, 2, 5)
        .matmul(numbers([5, 2], 2)),
    );
    await parity(() => numbers([3, 0]).matmul(numbers([0, 2], 2)));
  });

  it('softmax and logSoftmax of short and long rows, with their gradients', async () => {
    for (const shape of [[3, 5], [2, 3, 70], [4, 200], [1]]) {
      for (const name of ['softmax', 'logSoftmax'] as const) {
        await parity(() => numbers(shape).mul(20)[name]());
        await parity(() => bind1(opNamed(`${name}Grad`), [numbers(shape), numbers(shape, 2)]));
      }
    }
    await parity(() => tensor([1e4, 1e4 + 1, -1e4]).logSoftmax());
    await parity(() => tensor([0, -Infinity, NaN]).softmax());
  });

  it.each([
    ['few labels', 5, 3],
    ['many labels', 70, 3],
  ])('losses of labels and their gradients skip the label -100: %s', async (_, rows, classes) => {
    const labels = (all = false) =>
      tensor(
        Int32Array.from({ length: rows }, (_, i) => (all || i % 4 === 1 ? -100 : i % classes)),
      );
    const scores = () => numbers([rows, classes]);
    for (const all of [false, true]) {
      const given = () => labels(all);
      await parity(() => nllLoss(scores(), given()));
      await parity(() => crossEntropy(scores(), given()));
      await parity(() => bind1(opNamed('nllLossGrad'), [tensor(2), given(), scores()]));
      await parity(() => bind1(opNamed('nllLossShare'), [tensor(2), given()]));
    }
    await parity(() => bind1(opNamed('crossEntropyGrad'), [tensor(-0.5), labels(), scores()]));
  });

  it('nllLoss, its gradient, and cross entropy', async () => {
    const labels = () => tensor(new Int32Array([0, 4, 2]));
    await parity(() => nllLoss(numbers([3, 5]), labels()));
    await parity(() => bind1(opNamed('nllLossGrad'), [tensor(2), labels(), numbers([3, 5])]));
    await parity(() => crossEntropy(numbers([3, 5]), labels()));
  });

  it('narrowGrad puts a gradient back into zeros', async () => {
    const narrowGrad = opNamed('narrowGrad');
    await parity(() =>
      bind1(narrowGrad, [numbers([2, 2, 3]), numbers([2, 5, 3])], { dim: 1, start: 2 }),
    );
    await parity(() => bind1(narrowGrad, [numbers([1, 3]), numbers([4, 3])], { dim: 0, start: 3 }));
  });

  const convolutions = {
    plain: {},
    'stride 2, padding 1': { stride: 2, padding: 1 },
    uneven: { stride: [1, 2], padding: [2, 0], dilation: [2, 1] },
    grouped: { groups: 2, padding: 1 },
  } as const;
  for (const [name, options] of Object.entries(convolutions)) {
    it(`conv2d and its gradients: ${name}`, async () => {
      const groups = 'groups' in options ? options.groups : 1;
      const x = () => numbers([2, 4, 7, 6]);
      const w = () => numbers([6, 4 / groups, 3, 2], 2);
      const loose = { relative: 1e-5, absolute: 1e-5 };
      await parity(() => conv2d(x(), w(), numbers([6], 3), options), loose);
      for (const wanted of ['x', 'w'] as const) {
        await parity(() => {
          const inputs = { x: x().requiresGrad_(), w: w().requiresGrad_() };
          const y = conv2d(inputs.x, inputs.w, null, options);
          y.mul(numbers(y.shape, 5)).sum().backward();
          return inputs[wanted].grad!;
        }, loose);
      }
    });
  }

  const pools = [
    [2, {}],
    [3, { stride: 2, padding: 1 }],
    [[2, 3], { stride: 1 }],
  ] as const;
  for (const [kernel, options] of pools) {
    it(`maxPool2d of window ${kernel} with ${JSON.stringify(options)}`, async () => {
      const x = () => numbers([2, 3, 6, 7]);
      await parity(() => maxPool2d(x(), kernel, options));
      await parity(() => {
        const leaf = x().requiresGrad_();
        const y = maxPool2d(leaf, kernel, options);
        y.mul(numbers(y.shape, 5)).sum().backward();
        return leaf.grad!;
      });
    });
  }

  it('maxPool2d chooses the first of equals, and NaN', async () => {
    const x = () =>
      tensor([
        [
          [
            [1, 1, NaN, 2],
            [1, 1, 3, 4],
            [-Infinity, -Infinity, 0, 0],
            [-Infinity, -Infinity, 0, 0],
          ],
        ],
      ]);
    const attrs = {
      kernel: [2, 2],
      stride: [2, 2],
      padding: [0, 0],
      dilation: [1, 1],
      size: [2, 2],
    };
    for (const i of [0, 1]) await parity(() => bind(opNamed('maxPool2d'), [x()], attrs)[i]!);
  });

  it('every op of the table with a named kernel has one here, or is left to the CPU', async () => {
    const { gpuKernels, isHostKernel } = await import(
      '../../runtime/device/gpu/codegen/kernels.ts'
    );
    const { opTable } = await import('../../runtime/ops/op-table.ts');
    for (const { kernel } of opTable.values()) {
      if (kernel.kind !== 'named' || isHostKernel(kernel.name)) continue;
      expect(gpuKernels, kernel.name).toHaveProperty(kernel.name);
    }
  });
});
