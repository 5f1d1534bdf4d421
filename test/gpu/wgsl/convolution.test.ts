/** Convolutions by tiles and by single threads: generated sizes against the CPU, with gradients, eagerly and captured. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  conv2d,
  convTranspose2d,
  deviceGuard,
  randn,
  relu,
  seed,
  type Tensor,
  tensor,
  tidy,
} from '../../../runtime/index.ts';
import { toStatic } from '../../../src/to-static.ts';
import { gpuForTests, onDevice, skipGpu } from '../open-gpu.ts';
import { expectClose, expectParity } from '../parity.ts';

interface Conv {
  readonly batch: number;
  /** Channels of one group, of the input and of the result. */
  readonly channels: readonly [number, number];
  readonly groups: number;
  readonly size: readonly [number, number];
  readonly kernel: readonly [number, number];
  readonly stride: readonly [number, number];
  readonly padding: readonly [number, number];
  readonly dilation: readonly [number, number];
  readonly isTransposed: boolean;
}

const pair = (from: number, to: number) => {
  const one = fc.integer({ min: from, max: to });
  return fc.tuple(one, one);
};

/** Windows that fit their images; channels below and above what a tile takes. */
const convolutions = fc
  .record({
    batch: fc.constantFrom(0, 1, 2, 3),
    channels: fc.tuple(fc.constantFrom(1, 2, 3, 9, 17, 33), fc.constantFrom(1, 2, 5, 9, 12, 35)),
    groups: fc.constantFrom(1, 1, 2, 3),
    size: pair(1, 9),
    kernel: pair(1, 4),
    stride: pair(1, 4),
    padding: pair(0, 3),
    dilation: pair(1, 3),
    isTransposed: fc.boolean(),
  })
  .map((own): Conv => {
    const reach = own.dilation.map((dilation, d) => dilation * (own.kernel[d]! - 1) + 1);
    const size = own.size.map((size, d) => Math.max(size, reach[d]! - 2 * own.padding[d]!, 1)) as [
      number,
      number,
    ];
    // A transposed result has at least one element, too.
    const isTransposed =
      own.isTransposed &&
      size.every((size, d) => (size - 1) * own.stride[d]! - 2 * own.padding[d]! + reach[d]! > 0);
    return { ...own, size, isTransposed };
  });

describe.skipIf(skipGpu)('gpu/wgsl/convolution', () => {
  const gpu = gpuForTests();
  const tolerance = { relative: 1e-4, absolute: 1e-4 };

  const layer =
    ({ isTransposed, stride, padding, dilation, groups }: Conv) =>
    (x: Tensor, w: Tensor, b: Tensor): Tensor =>
      (isTransposed ? convTranspose2d : conv2d)(x, w, b, { stride, padding, dilation, groups });

  function operands(own: Conv): Tensor[] {
    const { batch, groups, kernel, size, isTransposed } = own;
    const [taken, made] = own.channels;
    const weight = isTransposed ? [taken * groups, made] : [made * groups, taken];
    const x = randn([batch, taken * groups, ...size]);
    const [w, b] = [randn([...weight, ...kernel]), randn([made * groups])];
    return [x, w, b, randn(layer(own)(x, w, b).shape)];
  }

  /** Result and gradients of a layer with an activation, one behind the other. */
  const trained =
    (own: Conv) =>
    (x: Tensor, w: Tensor, b: Tensor, dy: Tensor): Tensor[] => {
      const leaves = [x, w, b].map((t) => t.detach().requiresGrad_());
      const y = relu(layer(own)(leaves[0]!, leaves[1]!, leaves[2]!));
      y.backward(dy);
      return [y.detach(), ...leaves.map((leaf) => leaf.grad!)];
    };

  /** Data of results and gradients; captured, the second of two runs, whose bytes were predicted. */
  async function resultsOn(device: 'cpu' | 'gpu', own: Conv, isCaptured = false) {
    return onDevice(device === 'cpu' ? 'cpu' : gpu(), async () => {
      seed(4);
      const given = tidy(() => operands(own)) as [Tensor, Tensor, Tensor, Tensor];
      const captured = toStatic(trained(own));
      const run = isCaptured ? captured : trained(own);
      if (isCaptured) for (const t of run(...given)) t.dispose();
      const { counter } = gpu().allocator;
      const before = counter.allocated;
      counter.reset();
      const found = isCaptured ? run(...given) : tidy(() => run(...given));
      if (isCaptured) {
        const { peakBytes } = captured.programs()[0]!.stages!.planned.forward.predicted;
        expect(counter.peakAllocated - before).toBe(peakBytes);
        expect(captured.stats()).toMatchObject({ graphs: 1, breaks: [], fallbacks: [] });
      }
      const data = await Promise.all(found.map((t) => t.data()));
      for (const t of [...given, ...found]) t.dispose();
      return data;
    });
  }

  async function expectAgreement(own: Conv, absolute = 1e-4) {
    const expected = await resultsOn('cpu', own);
    const eager = await resultsOn('gpu', own);
    eager.forEach((data, i) => {
      expectClose(data, expected[i]!, { relative: 1e-4, absolute });
    });
    return eager;
  }

  it('agrees with the CPU, captured with itself to the bit and with the predicted bytes', async () => {
    await fc.assert(
      fc.asyncProperty(convolutions, async (own) => {
        const eager = await expectAgreement(own);
        expect(await resultsOn('gpu', own, true)).toEqual(eager);
      }),
      {
        numRuns: Number(process.env.GENERATED_RUNS ?? 8),
        seed: Number(process.env.GENERATED_SEED ?? 1),
      },
    );
  });

  const plain = {
    batch: 2,
    groups: 1,
    kernel: [3, 3],
    stride: [1, 1],
    padding: [1, 1],
    dilation: [1, 1],
    isTransposed: false,
  } as const;

  it.each<Conv>([
    { ...plain, batch: 3, channels: [3, 34], size: [18, 19] },
    { ...plain, channels: [3, 36], size: [13, 21], stride: [2, 2], isTransposed: true },
    { ...plain, channels: [2, 12], groups: 2, size: [23, 24], dilation: [2, 1] },
    { ...plain, channels: [1, 1], groups: 40, size: [9, 8], stride: [2, 1] },
  ])('in large tiles, in parts of long sums, and depthwise: %j', async (own) => {
    await expectAgreement(own, 2e-3);
  });

  it.each([
    [5, 6],
    [12, 11],
  ] as const)('reads operands of any strides: %i to %i channels', async (taken, made) => {
    const turned = (x: Tensor) => x.permute([3, 1, 0, 2]);
    const layer = (): Tensor[] => {
      seed(2);
      const x = turned(randn([7, taken, 6, 2])).requiresGrad_();
      const w = turned(randn([2, taken, 3, made])).requiresGrad_();
      // The gradient of the result is a view, too.
      const y = conv2d(x, w, null, { stride: [2, 1] }).permute([0, 2, 3, 1]);
      y.mul(randn([1, y.shape[1]!, 1, y.shape[3]!]))
        .sum()
        .backward();
      return [y.detach(), x.grad!, w.grad!];
    };
    for (const i of [0, 1, 2]) await expectParity(gpu(), () => layer()[i]!, tolerance);
  });

  it.each([2, 12])('a weight that is not finite meets padding, too: %i channels', async (made) => {
    await expectParity(gpu(), () => {
      seed(3);
      const w = randn([made, 2, 3, 3]);
      const row = tensor([1, Infinity, NaN]).reshape([1, 1, 3, 1]);
      return conv2d(randn([1, 2, 4, 5]), w.mul(row), null, { padding: [2, 0], stride: [2, 1] });
    });
  });

  it('is one dispatch forward and one backward, with the same bits each time, and a new size compiles nothing', async () => {
    const run = (batch: number, side: number, options: Parameters<typeof conv2d>[3]) =>
      deviceGuard(gpu(), () => {
        seed(6);
        const x = randn([batch, 12, side, side + 1]).requiresGrad_();
        const y = conv2d(x, randn([20, 12, 3, 3]), null, options);
        y.backward(randn(y.shape));
        return Promise.all([y.data(), x.grad!.data()]);
      });
    const first = await run(2, 8, { stride: 2, padding: 1 });
    const { compiled } = gpu().kernelStats;
    const { dispatches } = gpu().commandCounts;
    expect(await run(2, 8, { stride: 2, padding: 1 })).toEqual(first);
    // The three tensors are drawn on the GPU.
    expect(gpu().commandCounts.dispatches - dispatches).toBe(3 + 2);
    await run(3, 11, { stride: 2, padding: 1 });
    await run(5, 9, { stride: [3, 2], padding: [0, 2], dilation: 2 });
    await run(2, 6, {});
    expect(gpu().kernelStats.compiled).toBe(compiled);
  });
});
