/** Masks within a budget: gradients of relu read them where that leaves less to recompute. */

import { expect, it } from 'vitest';
import { sourceOf } from '../../src/check/sources.ts';
import {
  deviceGuard,
  type MemoryOptions,
  memory,
  nn,
  optim,
  randn,
  relu,
  seed,
  type Tensor,
  toStatic,
} from '../../src/index.ts';

/** Residual layers whose relus are read by sums alone: backward needs their signs. */
class Residual extends nn.Module {
  readonly layers: nn.ModuleList<nn.Conv2d>;

  constructor(depth: number, channels: number) {
    super();
    const conv = () => new nn.Conv2d(channels, channels, 3, { padding: 1 });
    this.layers = new nn.ModuleList(Array.from({ length: depth }, conv));
  }

  override forward(x: Tensor): Tensor {
    let y = x;
    for (const layer of this.layers) y = y.add(relu(layer.forward(y) as Tensor));
    return y;
  }
}

function stepOf(depth: number, channels: number, size: number) {
  seed(2);
  const model = new Residual(depth, channels);
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.01 });
  const x = randn([4, channels, size, size]);
  const step = (x: Tensor) => {
    const loss = model.forward(x).pow(2).mean();
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  const dispose = () => {
    for (const each of [x, model, optimizer]) each.dispose();
  };
  return { step, x, model, dispose };
}

const nets = [
  [8, 4, 16],
  [5, 8, 12],
  [12, 3, 10],
] as const;

it.each(nets)('%i layers of %i channels: less arithmetic than without masks', (...net) => {
  deviceGuard('meta', () => {
    const { step, x, dispose } = stepOf(...net);
    const f = toStatic(step, { fallback: 'error' });
    f(x).dispose();
    const source = sourceOf(f.programs().at(-1)!.stages!.planned)!;
    const plan = (own: Partial<MemoryOptions>) => {
      const { program, requested, options, donated } = source;
      const all = { ...options.memory, slices: false, ...own };
      return source.compile(
        program,
        requested,
        { ...options, tier: 'final', memory: all },
        donated,
      );
    };
    const most = plan({ prefer: 'bytes', savedMasks: false }).planned.forward.predicted.peakBytes;
    let masked = 0;
    for (const share of [0.57, 0.5, 0.45]) {
      const budget = Math.floor(most * share);
      const own = plan({ budget });
      const without = plan({ budget, savedMasks: false });
      expect(own.recompute!.bytes).toBeLessThanOrEqual(budget);
      expect(own.recompute!.share).toBeLessThanOrEqual(without.recompute!.share);
      if (!own.passes.savedMasks?.applied) continue;
      masked++;
      expect(own.recompute!.share).toBeLessThan(without.recompute!.share);
    }
    expect(masked).toBeGreaterThan(1);
    dispose();
  });
});

it.each(nets)('%i layers of %i channels: the bits of eager execution', (...net) => {
  const results = [false, true].map((isCaptured) => {
    const { step, x, model, dispose } = stepOf(...net);
    // Half of what forward saves: more than masks alone take away.
    const [depth, channels, size] = net;
    const budget = depth * 4 * channels * size * size * 4;
    const f = toStatic(step, { memory: { budget, slices: false }, fallback: 'error' });
    const losses = [1, 2].map(() => {
      const { allocated } = memory.stats('cpu');
      memory.reset('cpu');
      using loss = isCaptured ? f(x) : step(x);
      if (isCaptured) {
        const { planned, passes, recompute } = f.programs().at(-1)!.stages!;
        const peak = memory.stats('cpu').peakAllocated - allocated;
        expect(peak).toBe(planned.forward.predicted.peakBytes);
        expect(recompute!.ops).toBeGreaterThan(0);
        expect(passes.savedMasks?.applied).toBeGreaterThan(0);
      }
      return loss.itemSync();
    });
    const state = [...model.parameters()].map((each) => [...each.dataSync()]);
    dispose();
    return { losses, state };
  });
  expect(results[1]).toEqual(results[0]);
});
