import { describe, expect, it } from 'vitest';
import {
  crossEntropy,
  type Device,
  deviceGuard,
  deviceNamed,
  keep,
  optim,
  randn,
  seed,
  type Tensor,
  tensor,
  tidy,
} from '../../runtime/index.ts';
import { toStatic } from '../../src/to-static.ts';
import { gpuForTests, skipGpu } from './open-gpu.ts';
import { expectClose, expectSameKernels } from './parity.ts';
import { Mlp } from './webgl/page/small-models.ts';

const labels = new Int32Array([0, 3, 1, 2, 3, 0, 1, 2]);

type Way = 'eager' | 'static';

interface Run {
  readonly losses: number[];
  /** Bytes allocated after each step, above those before the first. */
  readonly growth: number[];
  /** Bytes that forward leaves behind, at each step. */
  readonly kept: number[];
  readonly predictedKept: number;
  readonly graphs: number;
  readonly breaks: number;
}

/** Five training steps with momentum; the same seed draws the same start on every device. */
async function train(device: Device, way: Way): Promise<Run> {
  const { counter } = device.allocator;
  const start = counter.allocated;
  seed(11);
  const [x, target, model] = deviceGuard(
    device,
    () => [randn([8, 6]), tensor(labels), new Mlp()] as const,
  );
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.3, momentum: 0.9 });
  const objective = (input: Tensor, labels: Tensor) => crossEntropy(model.forward(input), labels);
  const captured = toStatic(objective);
  const run = way === 'static' ? captured : objective;
  const [losses, growth, kept]: [number[], number[], number[]] = [[], [], []];
  for (let i = 0; i < 5; i++) {
    const before = counter.allocated;
    const loss = tidy(() => run(x, target));
    kept.push(counter.allocated - before);
    loss.backward();
    tidy(() => optimizer.step());
    optimizer.zeroGrad();
    losses.push(await keep(loss).item());
    loss.dispose();
    growth.push(counter.allocated - start);
  }
  const { graphs, breaks } = captured.stats();
  const predicted = captured.programs()[0]?.stages?.planned.forward.predicted;
  optimizer.dispose();
  model.dispose();
  for (const t of [x, target]) t.dispose();
  expect(counter.allocated).toBe(start);
  return {
    losses,
    growth,
    kept,
    predictedKept: predicted ? predicted.savedBytes + predicted.outputBytes : 0,
    graphs,
    breaks: breaks.length,
  };
}

describe.skipIf(skipGpu)('gpu/mlp-static', () => {
  const gpu = gpuForTests();

  it('a captured training step learns like eager on the GPU and on the CPU', async () => {
    const onCpu = await train(deviceNamed('cpu'), 'eager');
    const eager = await train(gpu(), 'eager');
    const captured = await train(gpu(), 'static');
    // The same kernels in the same order: not merely close.
    expectSameKernels(gpu(), [captured.losses], [eager.losses]);
    expectClose(captured.losses, onCpu.losses, { relative: 1e-4 });
    expect(captured.losses[4]).toBeLessThan(captured.losses[0]! * 0.8);
  });

  it('is one graph without breaks, and keeps the bytes that the program predicts', async () => {
    const { graphs, breaks, kept, predictedKept, growth } = await train(gpu(), 'static');
    expect(graphs).toBe(1);
    expect(breaks).toBe(0);
    expect(new Set(kept)).toEqual(new Set([predictedKept]));
    // Momentum buffers come with the first step; afterwards nothing grows.
    expect(new Set(growth.slice(1)).size).toBe(1);
  });

  it('a whole step, update included, is one graph that equals eager on the GPU', async () => {
    const run = async (capture: boolean) => {
      const start = gpu().allocator.counter.allocated;
      seed(11);
      const [x, target, model] = deviceGuard(
        gpu(),
        () => [randn([8, 6]), tensor(labels), new Mlp()] as const,
      );
      const optimizer = new optim.SGD(model.parameters(), { lr: 0.3, momentum: 0.9 });
      const step = (input: Tensor, classes: Tensor) => {
        const loss = crossEntropy(model.forward(input), classes);
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      };
      const captured = toStatic(step);
      const losses: number[] = [];
      for (let i = 0; i < 4; i++) {
        const loss = capture ? captured(x, target) : tidy(() => step(x, target));
        losses.push(await loss.item());
        loss.dispose();
      }
      optimizer.dispose();
      model.dispose();
      for (const t of [x, target]) t.dispose();
      expect(gpu().allocator.counter.allocated).toBe(start);
      return { losses, stats: captured.stats() };
    };
    const eager = await run(false);
    const { losses, stats } = await run(true);
    expectSameKernels(gpu(), [losses], [eager.losses]);
    expect(stats).toMatchObject({ graphs: 1, breaks: [], fallbacks: [] });
  });
});
