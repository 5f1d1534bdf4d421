import { describe, expect, it } from 'vitest';
import { workload } from '../../examples/workloads/cswin.ts';
import { base384, CSWinTransformer } from '../../examples/workloads/cswin-model.ts';
import { fullSize, ResNet18 } from '../../examples/workloads/resnet.ts';
import {
  deviceGuard,
  memory,
  type nn,
  noGrad,
  seed,
  type Tensor,
  tidy,
  toStatic,
  zeros,
} from '../../src/index.ts';

const parametersOf = (module: nn.Module) =>
  module.parameters().reduce((total, each) => total + each.numel(), 0);

import { expectStaticTraining } from './static-training.ts';

describe('CSWin-base at full size, on meta', () => {
  it('has the parameters of the literature, stage by stage', () => {
    const before = memory.stats('meta').allocated;
    deviceGuard('meta', () => {
      using model = new CSWinTransformer(base384);
      const { depths } = base384;
      expect(parametersOf(model.patch) + parametersOf(model.patchNorm)).toBe(14_400);
      // A stage is its blocks and the merge behind them.
      const ends = depths.map((_, i) => depths.slice(0, i + 1).reduce((n, d) => n + d + 1, 0));
      const stages = ends.map((end, i) => model.parts.slice(ends[i - 1] ?? 0, end));
      expect(
        stages.map((parts) => parts.reduce((total, part) => total + parametersOf(part), 0)),
      ).toEqual([392_064, 2_451_840, 59_562_240, 14_191_104]);
      expect(parametersOf(model.norm) + parametersOf(model.head)).toBe(770_536);
      expect(parametersOf(model)).toBe(77_382_184);
    });
    expect(memory.stats('meta').allocated).toBe(before);
  });

  it('makes stripes of the expected shapes', () => {
    const shapes = new Map<string, number>();
    deviceGuard('meta', () => {
      using model = new CSWinTransformer(base384);
      for (const module of model.modules()) {
        if (module.constructor.name !== 'StripeAttention') continue;
        module.registerForwardHook((_module, inputs, output) => {
          const text = [...inputs, output].map((own) => (own as Tensor).shape.join('×')).join(' ');
          shapes.set(text, (shapes.get(text) ?? 0) + 1);
        });
      }
      using images = zeros([8, 3, 384, 384]);
      using scores = noGrad(() => tidy(() => model.forward(images)));
      expect(scores.shape).toEqual([8, 1000]);
    });
    const four = (shape: string) => Array(4).fill(shape).join(' ');
    expect([...shapes]).toEqual([
      [four('8×9216×48'), 4],
      [four('8×2304×96'), 8],
      [four('8×576×192'), 64],
      [four('8×144×768'), 2],
    ]);
  });

  it('decays matrices and kernels only, and warms up', () => {
    const built = workload.build({ device: 'meta', size: 'full' });
    const [decayed, plain] = built.optimizer.groups;
    expect(decayed!.parameters.every(({ rank }) => rank > 1)).toBe(true);
    expect(plain!.parameters.every(({ rank }) => rank === 1)).toBe(true);
    expect([decayed!.weightDecay, plain!.weightDecay]).toEqual([0.05, 0]);
    expect(built.optimizer.lr).toBeCloseTo(2.5e-6, 12);
    for (let i = 0; i < 20; i++) built.schedule();
    expect(built.optimizer.lr).toBeCloseTo(2.5e-4, 12);
    for (let i = 0; i < 280; i++) built.schedule();
    expect(built.optimizer.lr).toBeCloseTo(2.5e-6, 12);
    built.dispose();
  });
});

it('ResNet-18 at full size has its 11,689,512 parameters', () => {
  deviceGuard('meta', () => {
    using model = new ResNet18(fullSize);
    expect(parametersOf(model)).toBe(11_689_512);
    using images = zeros([2, 3, 224, 224]);
    using scores = noGrad(() => tidy(() => model.eval().forward(images)));
    expect(scores.shape).toEqual([2, 1000]);
  });
});

it('reduced, on digits: the loss falls, and the captured step is the eager one', () => {
  const before = memory.stats('cpu').allocated;
  expectStaticTraining(workload, { steps: 10, batch: 2 });
  expect(memory.stats('cpu').allocated).toBe(before);
});

it('forced breaks cut the forward pass at the windows, and change no number', () => {
  const lossOf = (breaks: boolean, wrap: (loss: (...x: Tensor[]) => Tensor) => typeof loss) => {
    seed(2);
    const built = workload.build({ breaks, batch: 1 });
    const run = wrap(built.loss);
    const inputs = built.inputs(0);
    const loss = run(...inputs);
    const value = loss.itemSync();
    for (const own of [loss, ...inputs]) own.dispose();
    built.dispose();
    return value;
  };
  const plain = lossOf(
    false,
    (loss) =>
      (...x) =>
        tidy(() => loss(...x)),
  );
  let breaks = 0;
  const broken = lossOf(true, (loss) => {
    const run = toStatic(loss);
    return (...x) => {
      const value = run(...x);
      breaks = run.stats().breaks.length;
      return value;
    };
  });
  expect(broken).toBe(plain);
  expect(breaks).toBeGreaterThan(3);
});
