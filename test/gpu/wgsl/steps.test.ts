/** What a steady training step sends to the GPU. */

import { describe, expect, it } from 'vitest';
import {
  arange,
  crossEntropy,
  deviceGuard,
  maxPool2d,
  nn,
  optim,
  randn,
  relu,
  scaledDotProductAttention,
  seed,
  type Tensor,
  tensor,
  tidy,
} from '../../../runtime/index.ts';
import { toStatic } from '../../../src/to-static.ts';
import { gpuForTests, nothingOnCpu, skipGpu } from '../open-gpu.ts';
import { counted, webGpuDevice } from './counted.ts';

class Mlp extends nn.Module {
  first: nn.Linear;
  second: nn.Linear;
  constructor(readonly widths: readonly [number, number, number]) {
    super();
    this.first = new nn.Linear(widths[0], widths[1]);
    this.second = new nn.Linear(widths[1], widths[2]);
  }
  override forward(x: Tensor): Tensor {
    return this.second.forward(relu(this.first.forward(x)));
  }
}

class ConvNet extends nn.Module {
  first = new nn.Conv2d(1, 8, 3, { padding: 1 });
  second = new nn.Conv2d(8, 16, 3, { padding: 1, stride: 2 });
  head = new nn.Linear(16 * 2 * 2, 4);
  override forward(x: Tensor): Tensor {
    const features = maxPool2d(relu(this.first.forward(x)), 2);
    return this.head.forward(relu(this.second.forward(features)).reshape([x.shape[0]!, 64]));
  }
}

/** Two embeddings, a layer of attention to what came before, and a head. */
class LanguageModel extends nn.Module {
  tokens = new nn.Embedding(11, 16);
  places = new nn.Embedding(8, 16);
  norm = new nn.LayerNorm(16);
  all = new nn.Linear(16, 48);
  joined = new nn.Linear(16, 16);
  last = new nn.LayerNorm(16);
  head = new nn.Linear(16, 11);
  override forward(x: Tensor): Tensor {
    const [batch, length] = x.shape as [number, number];
    const embedded = this.tokens
      .forward(x)
      .add(this.places.forward(deviceGuard(x.device, () => arange(length))));
    const parts = this.all.forward(this.norm.forward(embedded));
    const [query, key, value] = [0, 1, 2].map((i) =>
      parts
        .narrow(-1, i * 16, 16)
        .reshape([batch, length, 2, 8])
        .transpose(1, 2),
    ) as [Tensor, Tensor, Tensor];
    const attended = scaledDotProductAttention(query, key, value, { isCausal: true });
    const together = attended.transpose(1, 2).reshape([batch, length, 16]);
    return this.head.forward(this.last.forward(embedded.add(this.joined.forward(together))));
  }
}

const stepOf =
  (model: Mlp, optimizer: optim.Adam) =>
  (input: Tensor, classes: Tensor): Tensor => {
    const loss = crossEntropy(model.forward(input), classes);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };

describe.skipIf(skipGpu)('gpu/wgsl/steps', () => {
  const gpu = gpuForTests();
  const expectNothingOnCpu = nothingOnCpu(gpu);

  it.each([
    [8, [6, 16, 4]],
    [24, [12, 7, 5]],
  ] as const)(
    'MLP + Adam, batch %i of widths %j: at most 12 dispatches, 1 submit',
    async (batch, widths) => {
      seed(1);
      const labels = Int32Array.from({ length: batch }, (_, i) => i % widths[2]);
      const [x, target, model] = deviceGuard(
        gpu(),
        () => [randn([batch, widths[0]]), tensor(labels), new Mlp(widths)] as const,
      );
      const optimizer = new optim.Adam(model.parameters(), { lr: 0.01 });
      // Comparisons with the traced program read results back.
      const step = toStatic(stepOf(model, optimizer), { check: 0 });
      const run = async () => {
        step(x, target).dispose();
        await gpu().synchronize();
      };
      for (let i = 0; i < 8; i++) await run();
      // Hot code gets another program.
      await step.ready();
      for (let i = 0; i < 4; i++) await run();
      const before = { ...gpu().commandCounts, ...gpu().kernelStats };
      const webGpu = await webGpuDevice();
      // A readback would make a staging buffer.
      const made = (
        [
          'createBuffer',
          'createBindGroup',
          'createShaderModule',
          'createComputePipelineAsync',
        ] as const
      ).map((name) => counted(webGpu, name));
      for (let i = 0; i < 3; i++) await run();
      expect(made.map((calls) => calls.stop())).toEqual([0, 0, 0, 0]);
      const after = { ...gpu().commandCounts, ...gpu().kernelStats };
      expect(after.dispatches - before.dispatches).toBeLessThanOrEqual(3 * 12);
      expect(after.submits - before.submits).toBe(3);
      expect(after.bindGroups - before.bindGroups).toBe(0);
      expect(after.compiled - before.compiled).toBe(0);
    },
  );

  it.each(['captured', 'op by op'])(
    'steps without a wait between them make no bind groups, %s',
    async (how) => {
      seed(1);
      const [x, target, model] = deviceGuard(
        gpu(),
        () =>
          [
            randn([8, 6]),
            tensor(Int32Array.of(0, 1, 2, 3, 0, 1, 2, 3)),
            new Mlp([6, 16, 4]),
          ] as const,
      );
      const optimizer = new optim.Adam(model.parameters(), { lr: 0.01 });
      const eager = stepOf(model, optimizer);
      const captured = toStatic(eager, { check: 0 });
      const step = how === 'captured' ? captured : eager;
      const run = async (steps: number) => {
        for (let i = 0; i < steps; i++) tidy(() => void step(x, target));
        await gpu().synchronize();
      };
      for (let i = 0; i < 3; i++) await run(2);
      await captured.ready();
      await run(8);
      const before = gpu().commandCounts;
      // More dispatches than one submit takes, so that each kernel meets all places of a submit.
      await run(40);
      const after = gpu().commandCounts;
      expect(after.dispatches - before.dispatches).toBeGreaterThan(256);
      expect(after.bindGroups - before.bindGroups).toBe(0);
    },
  );

  it('another batch size compiles nothing, captured or op by op', async () => {
    seed(1);
    const model = deviceGuard(gpu(), () => new Mlp([6, 16, 4]));
    const optimizer = new optim.Adam(model.parameters(), { lr: 0.01 });
    const eager = stepOf(model, optimizer);
    const captured = toStatic(eager, { check: 0 });
    const run = async (batch: number) => {
      const labels = Int32Array.from({ length: batch }, (_, i) => i % 4);
      const [x, target] = deviceGuard(gpu(), () => [randn([batch, 6]), tensor(labels)] as const);
      const { compiled } = gpu().kernelStats;
      for (const step of [eager, captured]) {
        step(x, target).dispose();
        await captured.ready();
      }
      await gpu().synchronize();
      return gpu().kernelStats.compiled - compiled;
    };
    // The second size is compiled for all sizes.
    for (const batch of [40, 48]) await run(batch);
    expect([await run(44), await run(52), await run(61)]).toEqual([0, 0, 0]);
  });

  it('ConvNet + Adam: at most 21 dispatches, 1 submit, and no kernel of gpu.js', async () => {
    seed(1);
    const model = deviceGuard(gpu(), () => new ConvNet());
    const optimizer = new optim.Adam(model.parameters(), { lr: 0.01 });
    const step = toStatic(
      (input: Tensor, classes: Tensor) => {
        const loss = crossEntropy(model.forward(input), classes);
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      },
      { check: 0 },
    );
    const { compiled, wgsl } = gpu().kernelStats;
    const labels = Int32Array.from({ length: 8 }, (_, i) => i % 4);
    const [x, target] = deviceGuard(gpu(), () => [randn([8, 1, 8, 8]), tensor(labels)] as const);
    const run = async () => {
      step(x, target).dispose();
      await gpu().synchronize();
    };
    for (let i = 0; i < 4; i++) await run();
    await step.ready();
    for (let i = 0; i < 4; i++) await run();
    const before = { ...gpu().commandCounts, ...gpu().kernelStats };
    await run();
    const after = { ...gpu().commandCounts, ...gpu().kernelStats };
    expect(after.dispatches - before.dispatches).toBeLessThanOrEqual(21);
    expect(after.submits - before.submits).toBe(1);
    expect(after.compiled - before.compiled).toBe(0);
    expect(after.compiled - compiled).toBe(after.wgsl - wgsl);
    expectNothingOnCpu();
  });

  it('transformer layer + Adam: at most 50 dispatches, 1 submit, and no kernel of gpu.js', async () => {
    seed(1);
    const options = { dimFeedforward: 64, dropout: 0, batchFirst: true };
    const model = deviceGuard(gpu(), () => new nn.TransformerEncoderLayer(32, 4, options));
    const optimizer = new optim.Adam(model.parameters(), { lr: 0.01 });
    const { compiled, wgsl } = gpu().kernelStats;
    const step = toStatic(
      (input: Tensor) => {
        const loss = model.forward(input).pow(2).mean();
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      },
      { check: 0 },
    );
    const x = deviceGuard(gpu(), () => randn([4, 16, 32]));
    const run = async () => {
      step(x).dispose();
      await gpu().synchronize();
    };
    for (let i = 0; i < 4; i++) await run();
    await step.ready();
    for (let i = 0; i < 4; i++) await run();
    const before = { ...gpu().commandCounts, ...gpu().kernelStats };
    await run();
    const after = { ...gpu().commandCounts, ...gpu().kernelStats };
    expect(after.dispatches - before.dispatches).toBeLessThanOrEqual(50);
    expect(after.submits - before.submits).toBe(1);
    expect(after.compiled - before.compiled).toBe(0);
    expect(after.compiled - compiled).toBe(after.wgsl - wgsl);
  });

  it('language model + AdamW: at most 63 dispatches, 1 submit, and no kernel of gpu.js', async () => {
    seed(1);
    const model = deviceGuard(gpu(), () => new LanguageModel());
    const optimizer = new optim.AdamW(model.parameters(), { lr: 0.01 });
    const step = toStatic(
      (input: Tensor, classes: Tensor) => {
        const loss = crossEntropy(model.forward(input).reshape([-1, 11]), classes);
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      },
      { check: 0 },
    );
    const { compiled, wgsl } = gpu().kernelStats;
    const tokens = Int32Array.from({ length: 32 }, (_, i) => (i * 7) % 11);
    const [x, target] = deviceGuard(
      gpu(),
      () => [tensor(tokens, { shape: [4, 8] }), tensor(tokens)] as const,
    );
    const run = async () => {
      step(x, target).dispose();
      await gpu().synchronize();
    };
    for (let i = 0; i < 4; i++) await run();
    await step.ready();
    for (let i = 0; i < 4; i++) await run();
    const before = { ...gpu().commandCounts, ...gpu().kernelStats };
    await run();
    const after = { ...gpu().commandCounts, ...gpu().kernelStats };
    expect(after.dispatches - before.dispatches).toBeLessThanOrEqual(63);
    expect(after.submits - before.submits).toBe(1);
    expect(after.compiled - before.compiled).toBe(0);
    expect(after.compiled - compiled).toBe(after.wgsl - wgsl);
    expectNothingOnCpu();
  });
});
