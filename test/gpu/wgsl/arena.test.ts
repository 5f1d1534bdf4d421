/** Values of a step at planned offsets in one buffer. */

import { beforeAll, describe, expect, it } from 'vitest';
import {
  crossEntropy,
  deviceGuard,
  dropout,
  gpuKernel,
  nn,
  optim,
  randn,
  relu,
  seed,
  type Tensor,
  tensor,
} from '../../../runtime/index.ts';
import { appliedTo } from '../../../src/explain/applied.ts';
import { type CapturedFunction, toStatic } from '../../../src/to-static.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';
import { expectSameKernels } from '../parity.ts';
import { counted, webGpuDevice } from './counted.ts';

const batch = 24;

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

describe.skipIf(skipGpu)('gpu/wgsl/arena', () => {
  const gpu = gpuForTests();
  let webGpu: GPUDevice;
  beforeAll(async () => {
    if (!skipGpu) webGpu = await webGpuDevice();
  });

  const inputs = () =>
    deviceGuard(
      gpu(),
      () =>
        [
          randn([batch, 20]),
          tensor(Int32Array.from({ length: batch }, (_, i) => i % 5)),
          new Net(),
        ] as const,
    );

  /** Steps with an arena or without: losses and parameters, and what the GPU was asked for once steady. */
  async function train(arena: boolean, body: (model: Net) => Model = (model) => model) {
    seed(3);
    const [x, labels, net] = inputs();
    const model = body(net);
    const optimizer = new optim.Adam(net.parameters(), { lr: 0.01 });
    const step = toStatic(
      (input: Tensor, classes: Tensor) => {
        const loss = crossEntropy(model.forward(input), classes);
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      },
      { memory: { prefer: 'bytes', arena } },
    );
    const losses: Promise<Float32Array>[] = [];
    const run = async () => {
      const loss = step(x, labels);
      losses.push(loss.data() as Promise<Float32Array>);
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
    const made = (['createBindGroup', 'createShaderModule', 'createComputePipelineAsync'] as const).map(
      (name) => counted(webGpu, name),
    );
    const { submits: earlier } = gpu().commandCounts;
    counter.reset();
    const { allocated } = counter;
    step(x, labels).dispose();
    const peak = counter.peakAllocated - allocated;
    await gpu().synchronize();
    expect(made.map((calls) => calls.stop())).toEqual([0, 0, 0]);
    const submits = gpu().commandCounts.submits - earlier;
    const parameters = await Promise.all(net.parameters().map((each) => each.data()));
    const { forward } = partOf(step);
    return { losses: await Promise.all(losses), parameters, reserved, peak, submits, forward, step };
  }

  const partOf = (step: CapturedFunction) => {
    const [part] = step.programs();
    return { forward: (part!.record.planned ?? part!.stages!.planned).forward };
  };

  it('a step has the bits that it has in buffers of its own, and reserves one buffer', async () => {
    const apart = await train(false);
    const together = await train(true);
    expect(appliedTo(together.step.programs()[0]!)!.arena).toBeGreaterThan(8);
    expect(appliedTo(apart.step.programs()[0]!)!.arena).toBe(0);
    expectSameKernels(
      gpu(),
      [...together.losses, ...together.parameters] as Float32Array[],
      [...apart.losses, ...apart.parameters] as Float32Array[],
    );
    for (const { peak, forward, submits } of [apart, together]) {
      expect(peak).toBe(forward.predicted.peakBytes);
      expect(submits).toBe(1);
    }
    const { arenaBytes } = together.forward;
    const { regionLimits } = gpu().allocator;
    expect(arenaBytes % regionLimits!.alignment).toBe(0);
    console.log(apart.reserved, together.reserved, arenaBytes, together.peak);
    expect(together.reserved).toBeLessThan(apart.reserved);
  });
});

interface Model {
  forward(x: Tensor): Tensor;
}
void gpuKernel;
