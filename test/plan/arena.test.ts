/** Places in the arena: nothing that is alive together overlaps, and the block is hardly larger than what is alive. */

import { describe, expect, it } from 'vitest';
import { cpu } from '../../runtime/device/cpu/cpu-device.ts';
import { BestFitAllocator } from '../../runtime/memory/allocator.ts';
import { type Layout, type LiveRange, layOut, mostLive } from '../../src/7-plan/arena/layout.ts';
import { Occupancy } from '../../src/7-plan/arena/occupancy.ts';
import { OccupiedSpans } from '../../src/7-plan/arena/occupied-spans.ts';
import { memory, noGrad, type Tensor, toStatic } from '../../src/index.ts';
import { data } from '../run-program/memory-counter.ts';
import { randomInts } from './random-program.ts';

function expectDisjoint(ranges: readonly LiveRange[], { offsets, bytes }: Layout): void {
  ranges.forEach((a, i) => {
    expect(offsets[i]! + a.bytes).toBeLessThanOrEqual(bytes);
    ranges.slice(0, i).forEach((b, j) => {
      if (a.from > b.to || b.from > a.to) return;
      const apart = offsets[i]! + a.bytes <= offsets[j]! || offsets[j]! + b.bytes <= offsets[i]!;
      expect(apart, `${JSON.stringify(a)} and ${JSON.stringify(b)}`).toBe(true);
    });
  });
}

/** Lives as in training: values of forward until backward reads them, and short ones in between. */
function trainingRanges(seed: number, layers: number): LiveRange[] {
  const below = randomInts(seed);
  const size = () => 64 * (1 + below(200));
  const end = 4 * layers;
  return Array.from({ length: layers }, (_, i) => i).flatMap((i) => [
    { bytes: size(), from: 2 * i, to: end - 2 * i },
    { bytes: size(), from: 2 * i + 1, to: 2 * i + 2 },
    { bytes: size(), from: end - 2 * i, to: end - 2 * i + 1 },
  ]);
}

describe('plan/arena', () => {
  it('ranges that are alive together lie apart', () => {
    for (let seed = 0; seed < 60; seed++) {
      const below = randomInts(seed);
      const ranges = Array.from({ length: 1 + below(40) }, (): LiveRange => {
        const from = below(30);
        return { bytes: 64 * below(20), from, to: from + below(12) };
      });
      const layout = layOut(ranges);
      expectDisjoint(ranges, layout);
      expect(layout.bytes).toBeGreaterThanOrEqual(mostLive(ranges));
    }
  });

  it('each range gets the lowest place that is free for all its life', () => {
    for (let seed = 0; seed < 40; seed++) {
      const below = randomInts(seed + 100);
      const occupancy = new Occupancy(32);
      const placed: (LiveRange & { readonly offset: number })[] = [];
      for (let i = 0; i < 60; i++) {
        const from = below(32);
        const range = { bytes: 64 * below(9), from, to: Math.min(31, from + below(12)) };
        const others = placed.filter((other) => other.from <= range.to && range.from <= other.to);
        const isFree = (offset: number) =>
          others.every((o) => offset + range.bytes <= o.offset || o.offset + o.bytes <= offset);
        let lowest = 0;
        while (range.bytes > 0 && !isFree(lowest)) lowest += 64;
        const offset = occupancy.place(range);
        expect(offset).toBe(lowest);
        if (range.bytes > 0) placed.push({ ...range, offset });
      }
    }
  });

  it('thousands of neighbouring places are one', () => {
    const places = new OccupiedSpans();
    for (let i = 0; i < 4000; i += 2) places.add(64 * i, 64 * (i + 1));
    expect(places.starts).toHaveLength(2000);
    for (let i = 1; i < 4000; i += 2) places.add(64 * i, 64 * (i + 1));
    expect([places.starts, places.ends]).toEqual([[0], [64 * 4000]]);
    expect(places.freeFrom(0, 64)).toBe(64 * 4000);
  });

  it('few ranges get the best layout there is', () => {
    // By size first, the large ones end up apart; only another order packs them.
    const ranges = [
      { bytes: 256, from: 0, to: 1 },
      { bytes: 192, from: 1, to: 3 },
      { bytes: 128, from: 2, to: 5 },
      { bytes: 256, from: 4, to: 6 },
      { bytes: 64, from: 0, to: 6 },
    ];
    const layout = layOut(ranges);
    expectDisjoint(ranges, layout);
    expect(layout.bytes).toBe(mostLive(ranges));
  });

  it('of training programs the block is at most 5 % larger than what is alive', () => {
    for (let seed = 0; seed < 12; seed++) {
      const ranges = trainingRanges(seed, 20 + 10 * seed);
      const layout = layOut(ranges);
      expectDisjoint(ranges, layout);
      expect(layout.bytes / mostLive(ranges)).toBeLessThan(1.05);
    }
  });

  it('of thousands of ranges too, in a time that grows with their number', () => {
    const ranges = trainingRanges(7, 900);
    const { offsets, bytes } = layOut(ranges);
    expect(ranges.length).toBeGreaterThan(2000);
    expect(bytes / mostLive(ranges)).toBeLessThan(1.05);
    const overlaps = ranges.flatMap((a, i) =>
      ranges.slice(0, i).filter((b, j) => {
        const together = a.from <= b.to && b.from <= a.to;
        return (
          together && offsets[i]! < offsets[j]! + b.bytes && offsets[j]! < offsets[i]! + a.bytes
        );
      }),
    );
    expect(overlaps).toEqual([]);
  });

  it('a program takes its block at once and gives it back, with the bytes predicted', () => {
    const chain = (x: Tensor, w: Tensor) => x.matmul(w).exp().matmul(w).tanh().sum(0);
    const fn = toStatic(chain, { passes: { fuseRows: false } });
    const inputs = [data([32, 32]), data([32, 32], { salt: 1 })] as const;
    const run = () => noGrad(() => fn(...inputs));
    run().dispose();
    const { forward } = fn.programs()[0]!.stages!.planned;
    expect(forward.arenaBytes).toBe(forward.predicted.peakBytes);
    const before = memory.stats('cpu');
    memory.reset('cpu');
    const regions: number[] = [];
    const { allocator } = cpu;
    const open = allocator.openRegion!.bind(allocator);
    allocator.openRegion = (bytes) => {
      regions.push(bytes);
      return open(bytes);
    };
    const result = run();
    delete (allocator as { openRegion?: unknown }).openRegion;
    expect(regions).toEqual([forward.arenaBytes]);
    const { peakAllocated, reserved } = memory.stats('cpu');
    expect(peakAllocated - before.allocated).toBe(forward.predicted.peakBytes);
    expect(reserved).toBe(before.reserved);
    for (const each of [...inputs, result]) each.dispose();
  });
});

describe('memory/region', () => {
  const chunks = () => {
    let next = 64;
    return new BestFitAllocator('test', {
      grow: (bytes) => {
        const ptr = next;
        next += bytes;
        return { ptr, bytes };
      },
    });
  };

  it('counts as reserved, and what lies in it as allocated', () => {
    const allocator = chunks();
    const region = allocator.openRegion(1024);
    expect([allocator.counter.allocated, allocator.counter.reserved]).toEqual([0, 1024]);
    const ptr = region.alloc(512, 256);
    expect(ptr).toBe(region.ptr + 512);
    expect(allocator.counter.allocated).toBe(256);
    region.free(ptr, 256);
    region.close();
    expect(allocator.counter.allocated).toBe(0);
    // The block is free again.
    allocator.alloc(1024);
    expect(allocator.counter.reserved).toBe(1024);
  });

  it('that is closed goes back with the last block in it', () => {
    const allocator = chunks();
    const region = allocator.openRegion(1024);
    const ptr = region.alloc(0, 64);
    region.close();
    const other = allocator.alloc(1024);
    expect(other).not.toBe(region.ptr);
    region.free(ptr, 64);
    expect(allocator.alloc(1024)).toBe(region.ptr);
    expect(() => region.alloc(0, 64)).toThrow('outside of its region');
  });
});
