import { afterEach, describe, expect, it, vi } from 'vitest';
import { peakBytes } from '../../src/compile/budget-search.ts';
import {
  ArgumentError,
  AutogradError,
  crossEntropy,
  type MemoryOptions,
  memory,
  nn,
  noGrad,
  optim,
  randn,
  seed,
  type Tensor,
  tensor,
  toStatic,
} from '../../src/index.ts';
import { shareOfDay } from '../share-of-day.ts';

/** Residual blocks: norm, linear, relu, dropout. */
class Blocks extends nn.Module {
  readonly blocks: nn.Sequential;
  readonly head = new nn.Linear(16, 4);

  constructor(depth: number) {
    super();
    const block = () =>
      new nn.Sequential(
        new nn.LayerNorm([16]),
        new nn.Linear(16, 16),
        new nn.ReLU(),
        new nn.Dropout(0.25),
      );
    this.blocks = new nn.Sequential(...Array.from({ length: depth }, block));
  }

  override forward(x: Tensor): Tensor {
    let y = x;
    for (const block of this.blocks) y = y.add(block.forward(y) as Tensor);
    return this.head.forward(y);
  }
}

/** Convolutions with batch norms, which write running statistics in forward. */
class Convolutions extends nn.Module {
  readonly layers = new nn.Sequential(
    new nn.Conv2d(1, 4, 3, { padding: 1 }),
    new nn.BatchNorm2d(4),
    new nn.ReLU(),
    new nn.Conv2d(4, 4, 3, { padding: 1 }),
    new nn.BatchNorm2d(4),
    new nn.Tanh(),
    new nn.MaxPool2d(2),
    new nn.Flatten(),
    new nn.Linear(16, 4),
  );

  override forward(x: Tensor): Tensor {
    return this.layers.forward(x.reshape([-1, 1, 4, 4])) as Tensor;
  }
}

const nets = { blocks: () => new Blocks(6), convolutions: () => new Convolutions() };

interface Run {
  readonly losses: readonly number[];
  /** Gradients, or parameters after the step, and buffers. */
  readonly state: readonly number[];
  /** Most bytes of forward and backward above those before, in the last step. */
  readonly peak: number;
  readonly predicted: number;
  readonly bytesBefore: number;
  readonly ops: number;
  /** Norms that find their statistics, and those that read them. */
  readonly norms: { readonly whole: number; readonly byStats: number };
}

async function run(make: () => nn.Module, budget: number | null, whole: boolean): Promise<Run> {
  seed(5);
  using x = randn([32, 16]);
  using labels = tensor(Int32Array.from({ length: 32 }, (_, i) => i % 4));
  const net = make() as nn.Module & { forward(x: Tensor): Tensor };
  const optimizer = new optim.SGD([...net.parameters()], { lr: 0.1 });
  const forward = (a: Tensor, b: Tensor) => crossEntropy(net.forward(a), b);
  const step = (a: Tensor, b: Tensor) => {
    const loss = forward(a, b);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  // With a budget values are recomputed instead of saved in other forms.
  const plain = { savedMasks: false, savedPlaces: false };
  const f = toStatic(whole ? step : forward, { memory: { ...plain, budget }, fallback: 'error' });
  const losses: number[] = [];
  let peak = 0;
  const turns = 3;
  for (let turn = 0; turn < turns; turn++) {
    // A large program without a budget begins with a first plan.
    await f.ready();
    optimizer.zeroGrad();
    const { allocated } = memory.stats('cpu');
    memory.reset('cpu');
    using loss = f(x, labels);
    if (!whole) loss.backward();
    peak = memory.stats('cpu').peakAllocated - allocated;
    losses.push(loss.itemSync());
  }
  const tensors = [...net.parameters()].map((p) => (whole ? p : p.grad!));
  const state = [...tensors, ...net.buffers()].flatMap((t) => [...t.dataSync()].map(Number));
  const stages = f.programs().at(-1)!.stages!;
  const { forward: plan, backward } = stages.planned;
  const { peakBytes, savedBytes, outputBytes } = plan.predicted;
  const kept = savedBytes + outputBytes;
  const predicted = backward
    ? Math.max(peakBytes, kept + backward.plan.predicted.peakBytes)
    : peakBytes;
  const { ops = 0 } = stages.recompute ?? {};
  const launched = [plan, ...(backward ? [backward.plan] : [])]
    .flatMap(({ steps }) => steps)
    .flatMap(({ op }) => op.parts ?? [op]);
  const count = (kernel: string) =>
    launched.filter(({ op }) => op.kernel.kind === 'named' && op.kernel.name === kernel).length;
  const norms = { whole: count('standardize'), byStats: count('standardizeByStats') };
  const bytesBefore = stages.recompute?.bytesBefore() ?? predicted;
  net.dispose();
  return { losses, state, peak, predicted, bytesBefore, ops, norms };
}

afterEach(() => vi.restoreAllMocks());

describe('optimize/recompute', () => {
  const cases = (Object.keys(nets) as (keyof typeof nets)[]).flatMap((name) =>
    [false, true].map((whole) => ({ name, whole })),
  );

  it.each(shareOfDay(cases))(
    '$name, whole step $whole: the same to the last bit, within the budget to the byte',
    async ({ name, whole }) => {
      vi.spyOn(console, 'warn').mockImplementation(() => {});
      const plain = await run(nets[name], null, whole);
      let ops = 0;
      let held = 0;
      for (const share of [0.85, 0.67, 0.46, 0.3]) {
        const budget = Math.round(plain.predicted * share);
        const within = await run(nets[name], budget, whole);
        expect(within.losses).toEqual(plain.losses);
        expect(within.state).toEqual(plain.state);
        expect(within.peak).toBe(within.predicted);
        expect(within.bytesBefore).toBe(plain.predicted);
        expect(within.predicted).toBeLessThanOrEqual(plain.predicted);
        if (within.predicted > budget) continue;
        held++;
        expect(within.ops).toBeGreaterThanOrEqual(ops > 0 ? 1 : 0);
        ops = within.ops;
      }
      expect(held).toBeGreaterThanOrEqual(name === 'blocks' ? 2 : 1);
    },
  );

  it.each([false, true])(
    'whole step %s: statistics by channel are computed once',
    async (whole) => {
      const plain = await run(nets.convolutions, null, whole);
      const within = await run(nets.convolutions, Math.round(plain.predicted * 0.67), whole);
      expect(plain.norms.byStats).toBe(0);
      expect(within.norms.byStats).toBeGreaterThan(0);
      expect(within.norms.whole).toBe(plain.norms.whole);
    },
  );

  it('computes nothing twice where the budget is large enough', async () => {
    const plain = await run(nets.blocks, null, false);
    const within = await run(nets.blocks, plain.predicted, false);
    expect(within).toEqual({ ...plain, ops: 0 });
  });

  it('the least that is needed grows as the root of the depth', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const bytes = async (blocks: number, budget: number | null) =>
      (await run(() => new Blocks(blocks), budget, true)).predicted;
    expect((await bytes(8, null)) / (await bytes(2, null))).toBeGreaterThan(2.5);
    expect((await bytes(8, 0)) / (await bytes(2, 0))).toBeLessThan(2);
  });

  it('a budget that nothing can hold is told once, and by explain', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const f = toStatic(
      function demanding(x: Tensor, w: Tensor) {
        return x.matmul(w).exp().mul(x).sum();
      },
      { memory: { budget: 100 } },
    );
    using x = randn([16, 16]);
    using w = randn([16, 16]).requiresGrad_();
    f(x, w).dispose();
    f(x, w).dispose();
    expect(warn).toHaveBeenCalledTimes(1);
    expect(warn.mock.calls[0]![0]).toMatch(/demanding needs \d+ bytes beside its inputs, \d+ more/);
    expect(f.explain()).toMatch(/budget: 100 bytes, \d+ needed, the least that was found/);
  });

  it('explain says what is computed again, and what it costs', () => {
    using x = randn([16, 16]);
    using w = randn([16, 16]).requiresGrad_();
    const body = (x: Tensor, w: Tensor) => x.mul(w).sin().exp().tanh().sigmoid().sum();
    const plain = toStatic(body);
    const loss = plain(x, w);
    loss.dispose();
    const { forward, backward } = plain.programs()[0]!.stages!.planned;
    const kept = forward.predicted.savedBytes + forward.predicted.outputBytes;
    const budget = kept + backward!.plan.predicted.peakBytes - 1024;
    const f = toStatic(body, { memory: { budget } });
    f(x, w).dispose();
    expect(f.explain()).toMatch(
      new RegExp(
        `budget: ${budget} bytes, \\d+ needed, \\d+ otherwise: backward computes \\d+ ops? again, `,
      ),
    );
  });

  it.each([false, true])('masks count as bytes without a budget, whole step %s', (whole) => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const make = () => {
      seed(2);
      const blocks = [1, 2].flatMap(() => [new nn.ReLU(), new nn.LayerNorm(32)]);
      const ends = [new nn.Linear(32, 10), new nn.ReLU()];
      return new nn.Sequential(new nn.Linear(32, 32), ...blocks, ...ends);
    };
    const planned = (options: Partial<MemoryOptions>) => {
      using x = randn([256, 32]);
      using labels = tensor(Int32Array.from({ length: 256 }, (_, i) => i % 10));
      const net = make();
      const optimizer = new optim.SGD([...net.parameters()], { lr: 0.1 });
      const f = toStatic(
        (a: Tensor, b: Tensor) => {
          const loss = crossEntropy(net.forward(a), b);
          if (whole) {
            loss.backward();
            optimizer.step();
            optimizer.zeroGrad();
          }
          return loss;
        },
        { memory: { slices: false, prefer: 'bytes', ...options } },
      );
      f(x, labels).dispose();
      const stages = f.programs()[0]!.stages!;
      net.dispose();
      return { bytes: peakBytes(stages), recompute: stages.recompute };
    };
    const [masked, plain] = [planned({}), planned({ savedMasks: false })];
    expect(masked.bytes).toBeLessThan(plain.bytes);
    const fitting = planned({ budget: masked.bytes });
    const { bytes } = masked;
    expect(fitting.recompute).toEqual({
      budget: bytes,
      bytesBefore: expect.any(Function),
      bytes,
      ops: 0,
      share: 0,
    });
    expect(fitting.recompute!.bytesBefore()).toBe(bytes);
    expect(fitting.bytes).toBe(bytes);
    const less = planned({ budget: Math.round(bytes * 0.8) });
    expect(less.recompute!.bytesBefore()).toBe(bytes);
    expect(less.recompute!.ops).toBeGreaterThan(0);
    expect(planned({ budget: 1 }).bytes).toBeLessThanOrEqual(bytes);
  });

  it('a backward that keeps its graph runs twice', () => {
    using x = randn([16, 16]);
    using w = randn([16, 16]).requiresGrad_();
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const f = toStatic((x: Tensor, w: Tensor) => x.mul(w).sin().exp().tanh().sum(), {
      memory: { budget: 0 },
    });
    const before = memory.stats('cpu').allocated;
    const loss = f(x, w);
    loss.backward(undefined, { retainGraph: true });
    const first = [...w.grad!.dataSync()];
    w.grad!.dispose();
    w.grad = null;
    loss.backward();
    expect([...w.grad!.dataSync()]).toEqual(first);
    w.grad!.dispose();
    w.grad = null;
    loss.dispose();
    expect(memory.stats('cpu').allocated).toBe(before);
  });

  it('an input that backward reads again must not change in between', () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    using x = randn([16, 16]);
    using w = randn([16, 16]).requiresGrad_();
    const f = toStatic((x: Tensor, w: Tensor) => w.add(x).sin().exp().tanh().sigmoid().sum(), {
      memory: { budget: 0 },
    });
    using loss = f(x, w);
    noGrad(() => x.add_(1));
    expect(() => loss.backward()).toThrow(AutogradError);
  });

  it.each([-1, Number.NaN])('refuses %d as a budget', (budget) => {
    expect(() => toStatic((x: Tensor) => x, { memory: { budget } })).toThrow(ArgumentError);
  });
});
