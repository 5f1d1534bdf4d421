/** The largest of windows and its gradient: generated sizes against the CPU, eagerly and captured. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  deviceGuard,
  maxPool2d,
  randint,
  randn,
  seed,
  type Tensor,
  tidy,
} from '../../../runtime/index.ts';
import type { MaxPoolOptions } from '../../../runtime/ops/convolution/max-pool.ts';
import { bind1 } from '../../../runtime/ops/core/bind.ts';
import { opNamed } from '../../../runtime/ops/op-table.ts';
import { toStatic } from '../../../src/to-static.ts';
import { gpuForTests, onDevice, skipGpu } from '../open-gpu.ts';
import { expectParity } from '../parity.ts';

interface Pool {
  readonly shape: readonly [number, number, number, number];
  readonly kernel: readonly [number, number];
  readonly options: Omit<MaxPoolOptions, 'returnIndices'>;
}

const pair = (from: number, to: number) => {
  const one = fc.integer({ min: from, max: to });
  return fc.tuple(one, one);
};

const pools = fc
  .record({
    planes: fc.tuple(fc.constantFrom(0, 1, 2, 3), fc.integer({ min: 1, max: 5 })),
    size: pair(1, 12),
    kernel: pair(1, 4),
    stride: pair(1, 4),
    padding: pair(0, 2),
    dilation: pair(1, 3),
    ceilMode: fc.boolean(),
  })
  .map(({ planes, size, kernel, padding, ...options }): Pool => {
    const border = padding.map((own, d) => Math.min(own, kernel[d]! >> 1)) as [number, number];
    // Each window reaches its plane, and has an element there.
    const least = kernel.map((own, d) => {
      const reach = (own - 1) * options.dilation[d]! + 1 - 2 * border[d]!;
      return Math.max(reach, options.dilation[d]!);
    });
    const [height, width] = size.map((own, d) => Math.max(own, least[d]!)) as [number, number];
    return { shape: [...planes, height, width], kernel, options: { ...options, padding: border } };
  });

describe.skipIf(skipGpu)('gpu/wgsl/pooling', () => {
  const gpu = gpuForTests();

  /** Few values, so that windows have equal ones. */
  const drawn = (shape: readonly number[]) => randint(0, 5, [...shape]).to('float32');

  const trained = ({ kernel, options }: Pool) => {
    return (x: Tensor): Tensor[] => {
      const leaf = x.detach().requiresGrad_();
      const found = maxPool2d(leaf, kernel, { ...options, returnIndices: true });
      const [y, places] = found as unknown as [Tensor, Tensor];
      y.mul(y.add(2)).sum().backward();
      return [y.detach(), places, leaf.grad!];
    };
  };

  it('agrees with the CPU, captured with itself to the bit and with the predicted bytes', async () => {
    const run = async (own: Pool) => {
      for (const i of [0, 1, 2]) {
        await expectParity(gpu(), () => {
          seed(7);
          return trained(own)(drawn(own.shape))[i]!;
        });
      }
      await onDevice(gpu(), async () => {
        seed(7);
        const x = drawn(own.shape);
        const eager = tidy(() => trained(own)(x));
        const captured = toStatic(trained(own));
        for (const t of captured(x)) t.dispose();
        const { counter } = gpu().allocator;
        const before = counter.allocated;
        counter.reset();
        const found = captured(x);
        const { peakBytes } = captured.programs()[0]!.stages!.planned.forward.predicted;
        expect(counter.peakAllocated - before).toBe(peakBytes);
        const [actual, expected] = [found, eager].map((each) =>
          Promise.all(each.map((t) => t.data())),
        );
        expect(await actual).toEqual(await expected);
        for (const t of [x, ...eager, ...found]) t.dispose();
      });
    };
    await fc.assert(fc.asyncProperty(pools, run), {
      numRuns: Number(process.env.GENERATED_RUNS ?? 10),
      seed: Number(process.env.GENERATED_SEED ?? 1),
    });
  });

  it('a gradient without windows finds the places, however far they are', async () => {
    await expectParity(gpu(), () => {
      seed(5);
      const places = randint(0, 35, [2, 3, 4, 5]);
      return bind1(opNamed('maxPool2dGrad'), [randn([2, 3, 4, 5]), places, randn([2, 3, 5, 7])]);
    });
  });

  it('is a dispatch forward and one backward, and a new size compiles nothing', async () => {
    const step = (shape: readonly number[], stride: number) =>
      deviceGuard(gpu(), () => {
        seed(6);
        const x = randn(shape).requiresGrad_();
        const y = maxPool2d(x, [3, 2], { stride, padding: 1 });
        y.backward(randn(y.shape));
        return Promise.all([y.data(), x.grad!.data()]);
      });
    const first = await step([2, 3, 8, 9], 2);
    const { compiled } = gpu().kernelStats;
    const { dispatches } = gpu().commandCounts;
    expect(await step([2, 3, 8, 9], 2)).toEqual(first);
    // Both tensors are drawn on the GPU.
    expect(gpu().commandCounts.dispatches - dispatches).toBe(2 + 2);
    await step([5, 2, 11, 6], 3);
    expect(gpu().kernelStats.compiled).toBe(compiled);
  });
});
