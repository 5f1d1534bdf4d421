import { describe, expect, it } from 'vitest';
import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import { cpu } from '../../runtime/device/cpu/cpu-device.ts';
import { events, type MemoryEvent, recordEvents } from '../../runtime/memory/events.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, tensor } from '../ops/eager.ts';

function summary(recorded: readonly MemoryEvent[]): string[] {
  return recorded.flatMap((event) =>
    event.kind === 'alloc' || event.kind === 'free'
      ? [`${event.kind} ${event.bytes} ${event.op || '-'}`]
      : [],
  );
}

describe('events', () => {
  it('tell allocations and frees, with the op', () => {
    using x = tensor(new Float32Array(32));
    const { events: recorded } = recordEvents(() => tidy(() => x.add(1).exp().sum()).dispose());
    expect(summary(recorded)).toEqual([
      'alloc 128 addScalar',
      'alloc 128 exp',
      'alloc 64 sum',
      'free 128 -',
      'free 128 -',
      'free 64 -',
    ]);
  });

  it("a strided operand's copy lives as long as the op", () => {
    using x = tensor(new Float32Array(32), { shape: [4, 8] });
    using view = x.transpose(0, 1);
    const { events: recorded } = recordEvents(() => view.softmax().dispose());
    expect(summary(recorded)).toEqual([
      'alloc 128 contiguous',
      'alloc 128 softmax',
      'free 128 softmax',
      'free 128 -',
    ]);
  });

  it('add up to the counter, address by address', () => {
    const start = allocated();
    const live = new Map<number, number>();
    const { events: recorded } = recordEvents(() => {
      tidy(() => {
        const x = tensor(new Float32Array(100), { requiresGrad: true });
        x.mul(x).relu().sum().backward();
        x.grad!.dispose();
      });
    });
    let total = start;
    for (const event of recorded) {
      if (event.kind === 'alloc') {
        expect(live.has(event.ptr)).toBe(false);
        live.set(event.ptr, event.bytes);
        total += event.bytes;
      } else if (event.kind === 'free') {
        expect(live.get(event.ptr)).toBe(event.bytes);
        live.delete(event.ptr);
        total -= event.bytes;
      } else continue;
      expect(event.allocated).toBe(total);
      expect(event.device).toBe('cpu');
    }
    expect(live.size).toBe(0);
    expect(total).toBe(start);
  });

  it('nothing is emitted, or built, while nobody listens', () => {
    expect(events.active).toBe(false);
    const seen: MemoryEvent[] = [];
    const stop = events.subscribe((event) => seen.push(event));
    expect(events.active).toBe(true);
    stop();
    expect(events.active).toBe(false);
    tensor([1]).dispose();
    events.mark('nobody hears this');
    expect(seen).toEqual([]);
  });

  it('marks and all devices are in the same stream', () => {
    using x = tensor(new Float32Array(32));
    const { events: recorded } = recordEvents(() => {
      events.mark('forward');
      noGrad(() => x.to('meta')).dispose();
    });
    expect(recorded[0]).toEqual({ kind: 'mark', label: 'forward' });
    const onMeta = recorded.filter((event) => 'device' in event && event.device === 'meta');
    // The first allocation of the process also reserves a chunk.
    expect(onMeta.map(({ kind }) => kind).filter((kind) => kind !== 'reserve')).toEqual([
      'alloc',
      'free',
    ]);
  });
});

describe('the counter', () => {
  it('knows the peak since the last reset', () => {
    const { counter } = cpu.allocator;
    counter.reset();
    const start = counter.allocated;
    expect(counter.peakAllocated).toBe(start);
    tidy(() => {
      tensor(new Float32Array(1024));
      tensor(new Float32Array(2048));
    });
    const {
      peakAllocated,
      allocated: now,
      allocations,
      frees,
      allocatedInAll,
    } = counter.snapshot();
    expect(peakAllocated - start).toBe(4096 + 8192);
    expect(now).toBe(start);
    expect([allocations, frees, allocatedInAll]).toEqual([2, 2, 4096 + 8192]);
  });

  it('counts whole blocks: 64 bytes for a single number, none for an empty tensor', () => {
    const before = allocated();
    using one = tensor(1);
    expect(allocated() - before).toBe(64);
    using empty = tensor([]);
    expect(allocated() - before).toBe(64);
    expect([one.numel(), empty.numel()]).toEqual([1, 0]);
    expect(empty.add(1).shape).toEqual([0]);
  });
});
