import { describe, expect, it } from 'vitest';
import {
  crossEntropy,
  type MemoryChoice,
  memory,
  memoryPresets,
  nn,
  noGrad,
  randn,
  relu,
  seed,
  type Tensor,
  tensor,
  toStatic,
} from '../../src/index.ts';

interface Measured {
  /** After forward, above what was there before. */
  readonly kept: number;
  readonly forwardPeak: number;
  readonly backwardPeak: number;
  readonly predicted: Omit<Measured, 'predicted' | 'loss' | 'gradients'>;
  readonly loss: number;
  readonly gradients: readonly number[];
}

class Net extends nn.Module {
  first = new nn.Linear(12, 32);
  second = new nn.Linear(32, 32);
  third = new nn.Linear(32, 4);
  override forward(x: Tensor): [Tensor, Tensor] {
    const hidden = relu(this.second.forward(relu(this.first.forward(x))));
    const scores = this.third.forward(hidden);
    // Backward reads only the shapes of the scores and of their mean.
    const extra = noGrad(() => hidden.add(1)); // else the plan counts a gradient that doesn't come
    return [scores.sub(scores.mean(1, { keepDim: true })), extra];
  }
}

function measure(choice: MemoryChoice): Measured {
  seed(3);
  using x = randn([16, 12]);
  using labels = tensor(new Int32Array(16).fill(2));
  const net = new Net();
  const step = toStatic(
    (input: Tensor, target: Tensor) => {
      const [scores, extra] = net.forward(input);
      return [crossEntropy(scores, target), extra] as const;
    },
    { memory: choice },
  );
  const start = memory.stats('cpu').allocated;
  memory.reset('cpu');
  const [loss, extra] = step(x, labels);
  const forward = memory.stats('cpu');
  memory.reset('cpu');
  loss.backward();
  const backward = memory.stats('cpu');
  const gradients = [...net.parameters()].flatMap((p) => [...p.grad!.dataSync()]);
  const value = loss.itemSync();
  loss.dispose();
  extra.dispose();
  const { planned } = step.programs()[0]!.stages!;
  const { peakBytes, savedBytes, outputBytes } = planned.forward.predicted;
  net.dispose();
  return {
    kept: forward.allocated - start,
    forwardPeak: forward.peakAllocated - start,
    backwardPeak: backward.peakAllocated - forward.allocated,
    predicted: {
      kept: savedBytes + outputBytes,
      forwardPeak: peakBytes,
      backwardPeak: planned.backward!.plan.predicted.peakBytes,
    },
    loss: value,
    gradients,
  };
}

const switches = [
  'freeAtLastUse',
  'reuse',
  'skipSet',
  'unusedInputs',
  'inputCopies',
  'stridedInputs',
  'unusedOutputs',
  'noNeedBuffer',
  'gradNodeInputs',
] as const;
const planned = measure('planned');

describe('run-program/memory-options', () => {
  it.each(switches)('%s off: predicted bytes are measured bytes, values are the same', (name) => {
    const without = measure({ [name]: false });
    const { kept, forwardPeak, backwardPeak } = without;
    expect({ kept, forwardPeak, backwardPeak }).toEqual(without.predicted);
    expect(without.loss).toBe(planned.loss);
    expect(without.gradients).toEqual(planned.gradients);
  });

  it('freeing at the last use lowers the peaks', () => {
    const without = measure({ freeAtLastUse: false });
    expect(planned.forwardPeak).toBeLessThan(without.forwardPeak);
    expect(planned.backwardPeak).toBeLessThan(without.backwardPeak);
  });

  it('a chain of element-by-element ops runs in the memory of its first result', () => {
    const peak = (reuse: boolean): number => {
      using x = randn([64, 16]);
      const options = { memory: { reuse }, passes: { fusePointwise: false } };
      const f = toStatic((t: Tensor) => t.mul(2).add(1).relu().neg(), options);
      const start = memory.stats('cpu').allocated;
      memory.reset('cpu');
      f(x).dispose();
      return memory.stats('cpu').peakAllocated - start;
    };
    expect(peak(true)).toBe(4096);
    expect(peak(false)).toBe(2 * 4096);
  });

  it.each(['skipSet', 'noNeedBuffer'] as const)('%s keeps fewer bytes for backward', (name) => {
    expect(planned.kept).toBeLessThan(measure({ [name]: false }).kept);
  });

  it('the presets get better in their order', () => {
    const kept = (['beforeUnusedValues', 'inputsCleaned', 'cleaned', 'planned'] as const).map(
      (preset) => measure(preset).kept,
    );
    expect(kept).toEqual(kept.toSorted((a, b) => b - a));
    expect(Object.keys(memoryPresets)).toHaveLength(5);
  });

  it('a copy of a strided input dies at its last use, or stays until backward', () => {
    const bytes = 64 * 32 * 4;
    const keptBy = (choice: MemoryChoice) => {
      seed(4);
      using whole = randn([32, 64]);
      using w = randn([64, 32]).requiresGrad_();
      using x = whole.t();
      const f = toStatic((t: Tensor, w: Tensor) => t.mul(2).exp().mul(w), { memory: choice });
      const start = memory.stats('cpu').allocated;
      const y = f(x, w);
      const kept = memory.stats('cpu').allocated - start;
      const { savedBytes, outputBytes } = f.programs()[0]!.stages!.planned.forward.predicted;
      expect(kept).toBe(savedBytes + outputBytes);
      const values = [...y.dataSync()];
      using total = y.sum();
      total.backward();
      const gradient = [...w.grad!.dataSync()];
      w.grad!.dispose();
      y.dispose();
      total.dispose();
      expect(memory.stats('cpu').allocated).toBe(start);
      return { kept, values, gradient };
    };
    const [usual, copied, keptCopy] = [
      keptBy('planned'),
      keptBy({ stridedInputs: false }),
      keptBy({ stridedInputs: false, inputCopies: false }),
    ];
    // The result, and the factor of w.
    expect([usual.kept, copied.kept, keptCopy.kept]).toEqual([2 * bytes, 2 * bytes, 3 * bytes]);
    expect([copied, keptCopy].map(({ values, gradient }) => [values, gradient])).toEqual(
      Array(2).fill([usual.values, usual.gradient]),
    );
    const presets = (['beforeUnusedValues', 'inputsCleaned', 'cleaned'] as const).map(
      (preset) => keptBy(preset).kept,
    );
    expect(presets).toEqual([3, 2, 2].map((tensors) => tensors * bytes));
  });

  it('a grad node that holds its inputs keeps one that backward reads only for its shape', () => {
    const bytesWhenDropped = (memory: MemoryChoice): number => {
      using w = randn([8, 8]).requiresGrad_();
      const x = randn([8, 8]);
      const f = toStatic((t: Tensor, w: Tensor) => t.add(w).sum(), { memory });
      using total = f(x, w);
      const before = stats();
      x.dispose();
      const freed = before - stats();
      total.backward();
      w.grad!.dispose();
      return freed;
    };
    const stats = () => memory.stats('cpu').allocated;
    expect(bytesWhenDropped('cleaned')).toBe(256);
    expect(bytesWhenDropped('beforeGradNodeInputs')).toBe(0);
  });

  it('an output that is not cleaned up lives until backward, however early the caller drops it', () => {
    const bytesWhenDropped = (memory: MemoryChoice): number => {
      using x = randn([8, 8]).requiresGrad_();
      const f = toStatic((t: Tensor) => [t.sum(), t.add(1)] as const, { memory });
      const [total, unread] = f(x);
      const before = stats();
      unread.dispose();
      const freed = before - stats();
      total.dispose();
      return freed;
    };
    const stats = () => memory.stats('cpu').allocated;
    expect(bytesWhenDropped({ unusedOutputs: true })).toBe(256);
    expect(bytesWhenDropped({ unusedOutputs: false })).toBe(0);
    expect(bytesWhenDropped('cleaned')).toBe(256);
    expect(bytesWhenDropped('inputsCleaned')).toBe(0);
  });

  it('an unknown switch or preset is an error that lists the known ones', () => {
    const wrong = { freeEarly: true } as unknown as MemoryChoice;
    expect(() => toStatic(() => 1, { memory: wrong })).toThrow(/freeEarly.*\n.*noNeedBuffer/);
    expect(() => toStatic(() => 1, { memory: 'best' as MemoryChoice })).toThrow(/planned/);
  });
});
