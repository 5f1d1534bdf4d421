/** Values of a step at planned offsets in one buffer. */

import { beforeAll, describe, expect, it } from 'vitest';
import {
  crossEntropy,
  cummax,
  deviceGuard,
  dropout,
  nn,
  noGrad,
  OutOfMemoryError,
  optim,
  randn,
  relu,
  seed,
  type Tensor,
  tensor,
} from '../../../runtime/index.ts';
import { appliedTo } from '../../../src/explain/applied.ts';
import { gpuKernel } from '../../../src/index.ts';
import { type StaticFunction, toStatic } from '../../../src/to-static.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';
import { expectSameKernels } from '../parity.ts';
import { counted, webGpuDevice } from './counted.ts';

/** A model with values of 4 bytes an element, and with masks of 1. */
class Net extends nn.Module {
  first = new nn.Linear(20, 50);
  norm = new nn.LayerNorm(50);
  second = new nn.Linear(50, 33);
  head = new nn.Linear(33, 5);
  override forward(x: Tensor): Tensor {
    const features = dropout(relu(this.norm.forward(this.first.forward(x))), 0.25);
    return this.head.forward(this.second.forward(features).gelu());
  }
}

type Captured = Pick<StaticFunction<(x: Tensor) => Tensor>, 'programs'>;

const square = gpuKernel(
  function square(a: number[][]) {
    const value = a[this.thread.y]![this.thread.x]!;
    return value * value;
  },
  { shape: (a) => a },
);

describe.skipIf(skipGpu)('gpu/wgsl/arena', () => {
  const gpu = gpuForTests();
  let webGpu: GPUDevice;
  beforeAll(async () => {
    if (!skipGpu) webGpu = await webGpuDevice();
  });

  const planOf = (step: Captured) => {
    const { record, stages } = step.programs().at(-1)!;
    return (record.planned ?? stages!.planned).forward;
  };
  const placed = (step: Captured) => appliedTo(step.programs().at(-1)!)!.arena;

  /** Steps with an arena or without: their numbers, and what the GPU was asked for once steady. */
  async function train(arena: boolean) {
    seed(3);
    const labels = Int32Array.from({ length: 24 }, (_, i) => i % 5);
    const [x, target, net] = deviceGuard(
      gpu(),
      () => [randn([24, 20]), tensor(labels), new Net()] as const,
    );
    const optimizer = new optim.Adam(net.parameters(), { lr: 0.01 });
    const step = toStatic(
      (input: Tensor, classes: Tensor) => {
        const loss = crossEntropy(net.forward(input), classes);
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      },
      { memory: { prefer: 'bytes', arena }, check: 0 },
    );
    const losses: ReturnType<Tensor['data']>[] = [];
    const run = async () => {
      const loss = step(x, target);
      losses.push(loss.data());
      loss.dispose();
      await gpu().synchronize();
    };
    for (let i = 0; i < 3; i++) await run();
    await step.ready();
    for (let i = 0; i < 3; i++) await run();
    const { counter } = gpu().allocator;
    gpu().emptyCache();
    const { reserved: before } = counter;
    await run();
    const reserved = counter.reserved - before;
    await run();
    const names = ['createBuffer', 'createBindGroup', 'createShaderModule'] as const;
    const made = names.map((name) => counted(webGpu, name));
    const { submits: earlier } = gpu().commandCounts;
    counter.reset();
    const { allocated } = counter;
    step(x, target).dispose();
    const peak = counter.peakAllocated - allocated;
    await gpu().synchronize();
    expect(made.map((calls) => calls.stop())).toEqual([0, 0, 0]);
    const submits = gpu().commandCounts.submits - earlier;
    const parameters = net.parameters().map((each) => each.data());
    const numbers = (await Promise.all([...losses, ...parameters])) as Float32Array[];
    const plan = planOf(step);
    return { numbers, reserved, peak, submits, plan, placed: placed(step) };
  }

  it('a training step has the bits of buffers of their own, and reserves one buffer for its values', async () => {
    const apart = await train(false);
    const together = await train(true);
    expect(apart.placed).toBe(0);
    expect(together.placed).toBeGreaterThan(8);
    expectSameKernels(gpu(), together.numbers, apart.numbers);
    for (const { peak, plan, submits } of [apart, together]) {
      expect(peak).toBe(plan.predicted.peakBytes);
      expect(submits).toBe(1);
    }
    const { arenaBytes, predicted } = together.plan;
    expect(arenaBytes % gpu().allocator.regionLimits!.alignment).toBe(0);
    expect(together.reserved).toBe(arenaBytes + predicted.outputBytes);
    expect(together.reserved).toBeLessThan(apart.reserved);
  });

  it('plans that prefer time have buffers of their own: kernels may overlap', async () => {
    const step = toStatic((x: Tensor) => x.matmul(x).exp().matmul(x).sum(0));
    const x = deviceGuard(gpu(), () => randn([40, 40]));
    noGrad(() => step(x)).dispose();
    await step.ready();
    expect([placed(step), planOf(step).arenaBytes]).toEqual([0, 0]);
  });

  it.each<[string, (x: Tensor) => Tensor]>([
    ['a kernel of gpu.js', (x) => square(x.matmul(x).mul(0.1)).matmul(x).exp().matmul(x)],
    ['an op that the CPU computes', (x) => cummax(x.matmul(x), 1)[0]!.matmul(x).matmul(x)],
    ['parts that are strided', (x) => x.matmul(x).t().narrow(0, 3, 30).matmul(x).narrow(1, 1, 9)],
    ['masks of one byte', (x) => x.matmul(x).gt(0).logicalNot().float().matmul(x).add(1)],
    ['halves', (x) => x.matmul(x).to('float16').matmul(x.to('float16')).float().matmul(x)],
  ])('beside %s the bits are those of eager execution', async (_name, body) => {
    seed(5);
    const x = deviceGuard(gpu(), () => randn([37, 37]));
    const fn = toStatic((t: Tensor) => body(t).sum(0), { memory: { prefer: 'bytes' } });
    const expected = await noGrad(() => body(x).sum(0)).data();
    for (let i = 0; i < 3; i++) {
      const { counter } = gpu().allocator;
      counter.reset();
      const { allocated } = counter;
      const result = noGrad(() => fn(x));
      const peak = counter.peakAllocated - allocated;
      expectSameKernels(gpu(), [(await result.data()) as Float32Array], [expected as Float32Array]);
      result.dispose();
      if (i > 0) expect(peak).toBe(planOf(fn).predicted.peakBytes);
    }
    expect(placed(fn)).toBeGreaterThan(0);
  });

  it('a region without memory is an error of its results, and the next run has one', async () => {
    seed(7);
    const x = deviceGuard(gpu(), () => randn([51, 51]));
    const fn = toStatic((t: Tensor) => t.matmul(t).exp().matmul(t).sum(0), {
      memory: { prefer: 'bytes' },
    });
    const run = async () => {
      const result = noGrad(() => fn(x));
      try {
        return await result.data();
      } finally {
        result.dispose();
      }
    };
    const expected = await run();
    const { arenaBytes } = planOf(fn);
    expect(arenaBytes).toBeGreaterThan(0);
    gpu().emptyCache();
    const { createBuffer } = webGpu;
    let refused = 0;
    webGpu.createBuffer = (descriptor) => {
      const isArena = descriptor.size === arenaBytes;
      if (isArena) refused++;
      return createBuffer.call(webGpu, isArena ? { ...descriptor, size: 2 ** 52 } : descriptor);
    };
    try {
      await expect(run()).rejects.toThrow(OutOfMemoryError);
    } finally {
      webGpu.createBuffer = createBuffer;
    }
    expect(refused).toBe(1);
    await gpu().synchronize();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await run()).toEqual(expected);
  });
});
