import { describe, expect, it } from 'vitest';
import { deviceGuard, deviceNamed } from '../../runtime/device/current.ts';
import { BestFitAllocator } from '../../runtime/memory/allocator.ts';
import { events, type MemoryEvent } from '../../runtime/memory/events.ts';
import type { MemoryStats } from '../../runtime/memory/stats.ts';
import { Conv2d, Flatten, Linear, MaxPool2d, ReLU, Sequential } from '../../runtime/nn/index.ts';
import { crossEntropy } from '../../runtime/ops/loss/class-losses.ts';
import { Adam, SGD } from '../../runtime/optim/index.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { spread, tensor } from '../ops/eager.ts';

function classifier() {
  return new Sequential(
    new Conv2d(1, 4, 3, { padding: 1 }),
    new ReLU(),
    new MaxPool2d(2),
    new Flatten(),
    new Linear(4 * 6 * 6, 16),
    new ReLU(),
    new Linear(16, 10),
  );
}

const batch = () => ({
  images: tensor(spread([8, 1, 12, 12]), { shape: [8, 1, 12, 12] }),
  labels: tensor(Int32Array.from({ length: 8 }, (_, i) => i)),
});

type AnyOptimizer = Adam | SGD;

function step(model: Sequential, optimizer: AnyOptimizer): void {
  tidy(() => {
    const { images, labels } = batch();
    crossEntropy(model.forward(images), labels).backward();
    optimizer.step();
    optimizer.zeroGrad();
  });
}

/** The events of one step without addresses, and the counts. */
function traced(device: string, makeOptimizer: (model: Sequential) => AnyOptimizer) {
  return deviceGuard(device, () => {
    const { counter } = deviceNamed(device).allocator;
    const before = counter.allocated;
    const model = classifier();
    const optimizer = makeOptimizer(model);
    step(model, optimizer);
    counter.reset();
    const log: string[] = [];
    const stop = events.subscribe((event: MemoryEvent) => {
      if (event.kind !== 'alloc' && event.kind !== 'free') return;
      log.push(`${event.kind} ${event.bytes} ${event.op} ${event.allocated - before}`);
    });
    step(model, optimizer);
    stop();
    const stats: MemoryStats = counter.snapshot();
    optimizer.dispose();
    model.dispose();
    expect(counter.allocated).toBe(before);
    return { log, peak: stats.peakAllocated - before, allocations: stats.allocations };
  });
}

const optimizers: Readonly<Record<string, (model: Sequential) => AnyOptimizer>> = {
  SGD: (model) => new SGD(model.parameters(), { lr: 0.1 }),
  'SGD with momentum and decay': (model) =>
    new SGD(model.parameters(), { lr: 0.1, momentum: 0.9, weightDecay: 0.01, nesterov: true }),
  Adam: (model) => new Adam(model.parameters()),
};

describe.each(Object.entries(optimizers))('a training step with %s', (_name, makeOptimizer) => {
  it('ends with the bytes that it started with', () => {
    const { counter } = deviceNamed('cpu').allocator;
    using model = classifier();
    using optimizer = makeOptimizer(model);
    const bytes = () => {
      step(model, optimizer);
      return counter.allocated;
    };
    const first = bytes();
    expect([bytes(), bytes(), bytes()]).toEqual([first, first, first]);
    expect(counter.allocations).toBeGreaterThan(0);
  });

  it('allocates on meta what it allocates on the CPU, event by event', () => {
    const onCpu = traced('cpu', makeOptimizer);
    const onMeta = traced('meta', makeOptimizer);
    expect(onMeta.log).toEqual(onCpu.log);
    expect(onMeta.peak).toBe(onCpu.peak);
    expect(onMeta.allocations).toBe(onCpu.allocations);
    expect(onCpu.log.length).toBeGreaterThan(50);
  });
});

describe('a training step', () => {
  it('learns: the loss goes down', () => {
    using model = classifier();
    using optimizer = new Adam(model.parameters(), { lr: 0.01 });
    const loss = () =>
      tidy(() => {
        const { images, labels } = batch();
        return crossEntropy(model.forward(images), labels).itemSync();
      });
    const start = loss();
    for (let i = 0; i < 30; i++) step(model, optimizer);
    expect(loss()).toBeLessThan(start / 2);
  });

  it('reuses its memory: nothing more is reserved after the first step', () => {
    using model = classifier();
    using optimizer = new Adam(model.parameters());
    step(model, optimizer);
    const { counter } = deviceNamed('cpu').allocator;
    const { reserved } = counter;
    for (let i = 0; i < 5; i++) step(model, optimizer);
    expect(counter.reserved).toBe(reserved);
    expect(deviceNamed('cpu').allocator).toBeInstanceOf(BestFitAllocator);
  });
});
