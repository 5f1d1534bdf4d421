import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { fixedBytes, Heap, pageBytes } from '../../runtime/device/cpu/core/heap.ts';
import { OutOfMemoryError } from '../../runtime/errors/errors.ts';
import { InvariantError } from '../../runtime/errors/invariant.ts';
import { alignedBytes, alignment, BestFitAllocator } from '../../runtime/memory/allocator.ts';

const mebi = 2 ** 20;

function allocatorOf(chunks: number) {
  const heap = new Heap((fixedBytes + chunks * mebi) / pageBytes);
  return { heap, allocator: new BestFitAllocator('test', heap) };
}

describe('heap', () => {
  it('grows by at least a mebibyte, in whole pages', () => {
    const heap = new Heap();
    expect(heap.grow(1)).toEqual({ ptr: fixedBytes, bytes: mebi });
    expect(heap.grow(mebi + 1)).toEqual({ ptr: fixedBytes + mebi, bytes: mebi + pageBytes });
  });

  it('takes what is left when a whole chunk no longer fits', () => {
    const heap = new Heap(fixedBytes / pageBytes + 2);
    expect(heap.grow(pageBytes).bytes).toBe(2 * pageBytes);
  });

  it('keeps contents and renews its views when it grows', () => {
    const heap = new Heap();
    heap.f32[1000] = 1.5;
    const before = heap.f32.length;
    heap.grow(1);
    expect(heap.f32.length).toBeGreaterThan(before);
    expect(heap.f32[1000]).toBe(1.5);
    expect(heap.u8.length).toBe(heap.bytes);
  });

  it('says what was asked for and what is reserved when it is out of memory', () => {
    const heap = new Heap((fixedBytes + mebi) / pageBytes);
    heap.grow(100);
    const bytes = heap.bytes;
    const grow = () => heap.grow(3 * mebi);
    expect(grow).toThrow(OutOfMemoryError);
    expect(grow).toThrow(/3145728 bytes more, with 1048576 bytes reserved/);
    expect(heap.bytes).toBe(bytes);
  });
});

describe('allocator over the heap', () => {
  it('never hands out address 0 or the fixed bytes', () => {
    const { allocator } = allocatorOf(4);
    expect(allocator.alloc(4)).toBeGreaterThanOrEqual(fixedBytes);
  });

  it('says how much is free, and how much of it in one piece', () => {
    const { allocator } = allocatorOf(4);
    expect(allocator.freeMemory()).toEqual({ free: 0, largest: 0 });
    const blocks = [8192, 1024, 8192, 64, 4096].map((bytes) => ({
      bytes,
      ptr: allocator.alloc(bytes),
    }));
    const rest = mebi - (8192 + 1024 + 8192 + 64 + 4096);
    expect(allocator.freeMemory()).toEqual({ free: rest, largest: rest });
    // The first three are neighbours; the small one among them is kept at its size, and counts.
    for (const { bytes, ptr } of blocks.slice(0, 3)) allocator.free(ptr, bytes);
    expect(allocator.freeMemory()).toEqual({ free: rest + 17_408, largest: rest });
    const all = allocator.alloc(rest);
    expect(allocator.freeMemory()).toEqual({ free: 17_408, largest: 17_408 });
    expect(allocator.alloc(17_408)).toBe(blocks[0]!.ptr);
    allocator.free(all, rest);
  });

  it('chooses the smallest free block that fits', () => {
    const { allocator } = allocatorOf(4);
    const big = allocator.alloc(16_384);
    allocator.alloc(64);
    const small = allocator.alloc(8192);
    allocator.alloc(64);
    allocator.free(big, 16_384);
    allocator.free(small, 8192);
    expect(allocator.alloc(8000)).toBe(small);
    expect(allocator.alloc(8000)).toBe(big);
  });

  it('keeps a small block for the next of its size', () => {
    const { allocator } = allocatorOf(1);
    const [first, second] = [allocator.alloc(1024), allocator.alloc(1024)];
    allocator.free(first, 1024);
    expect(allocator.alloc(512)).not.toBe(first);
    expect(allocator.alloc(1000)).toBe(first);
    allocator.free(second, 1024);
    expect(() => allocator.free(second, 1024)).toThrow(InvariantError);
  });

  it('joins kept blocks before it takes a chunk', () => {
    const { allocator } = allocatorOf(1);
    const blocks = Array.from({ length: mebi / 1024 }, () => allocator.alloc(1024));
    for (const block of blocks) allocator.free(block, 1024);
    expect(allocator.alloc(mebi)).toBe(blocks[0]);
    expect(allocator.counter.reserved).toBe(mebi);
  });

  it('joins many kept blocks without moving the list of free ones for each', () => {
    const count = 20_000;
    const { allocator } = allocatorOf((count * alignment) / mebi + 16);
    const blocks = Array.from({ length: count }, () => allocator.alloc(alignment));
    // No two of these are neighbours, and their order is not that of their addresses.
    const apart = blocks.filter((_, i) => i % 2 === 0);
    const step = 1237;
    for (let i = 0, at = 0; i < apart.length; i++, at = (at + step) % apart.length)
      allocator.free(apart[at]!, alignment);
    let moved = 0;
    const { splice } = Array.prototype;
    const spy = vi.spyOn(Array.prototype, 'splice').mockImplementation(function (
      this: unknown[],
      ...args: Parameters<typeof splice>
    ) {
      moved += this.length - args[0];
      return splice.apply(this, args);
    });
    const large = allocator.alloc(mebi);
    spy.mockRestore();
    expect(moved).toBeLessThan(10 * count);
    allocator.free(large, mebi);
    for (let i = 1; i < count; i += 2) allocator.free(blocks[i]!, alignment);
    const { free, largest } = allocator.freeMemory();
    expect(largest).toBe(free);
  });

  it('joins kept blocks as it would one by one', () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.nat(999)), {
      minLength: 50,
    });
    fc.assert(
      fc.property(steps, (list) => {
        const { allocator } = allocatorOf(2);
        const live: { ptr: number; bytes: number }[] = [];
        for (const [size, choice] of list) {
          const bytes = size * 2048;
          if (choice % 2 === 0 && live.length > 0) {
            const [gone] = live.splice(choice % live.length, 1);
            allocator.free(gone!.ptr, gone!.bytes);
          } else live.push({ ptr: allocator.alloc(bytes), bytes });
        }
        // Larger than any piece: joins what is kept, and changes nothing else.
        expect(() => allocator.alloc(3 * mebi)).toThrow(OutOfMemoryError);
        const gaps: number[] = [];
        let at = fixedBytes;
        const end = { ptr: fixedBytes + allocator.counter.reserved, bytes: 0 };
        for (const { ptr, bytes } of [...live.sort((a, b) => a.ptr - b.ptr), end]) {
          if (ptr > at) gaps.push(ptr - at);
          at = ptr + bytes;
        }
        const free = gaps.reduce((sum, gap) => sum + gap, 0);
        expect(allocator.freeMemory()).toEqual({ free, largest: Math.max(0, ...gaps) });
        // Each gap is one free block: taking them from the largest down needs no other memory.
        const { reserved } = allocator.counter;
        for (const gap of gaps.sort((a, b) => b - a)) allocator.alloc(gap);
        expect(allocator.counter.reserved).toBe(reserved);
        expect(allocator.freeMemory().free).toBe(0);
      }),
      { numRuns: 100 },
    );
  });

  it('splits a block and joins its pieces again', () => {
    const { allocator } = allocatorOf(1);
    const first = allocator.alloc(mebi);
    allocator.free(first, mebi);
    const pieces = [0, 1, 2, 3].map(() => allocator.alloc(mebi / 4));
    for (const i of [1, 3, 0, 2]) allocator.free(pieces[i]!, mebi / 4);
    expect(allocator.alloc(mebi)).toBe(first);
    expect(allocator.counter.reserved).toBe(mebi);
  });

  it('joins a new chunk with the free end of the last one', () => {
    const { allocator } = allocatorOf(3);
    const first = allocator.alloc(64);
    allocator.alloc(mebi);
    expect(allocator.counter.reserved).toBe(2 * mebi);
    allocator.free(first, 64);
    expect(allocator.counter.allocated).toBe(mebi);
  });

  it('is as before after running out of memory', () => {
    const { allocator } = allocatorOf(2);
    const kept = allocator.alloc(mebi);
    const before = allocator.counter.snapshot();
    expect(() => allocator.alloc(2 * mebi)).toThrow(OutOfMemoryError);
    expect(allocator.counter.snapshot()).toEqual(before);
    expect(allocator.alloc(mebi)).toBe(kept + mebi);
  });

  it('calls a double free and a free of another size a bug', () => {
    const { allocator } = allocatorOf(1);
    const ptr = allocator.alloc(256);
    expect(() => allocator.free(ptr, 512)).toThrow(InvariantError);
    allocator.free(ptr, 256);
    expect(() => allocator.free(ptr, 256)).toThrow(InvariantError);
  });

  it('gives empty tensors no memory', () => {
    const { allocator } = allocatorOf(1);
    expect(allocator.alloc(0)).toBe(0);
    allocator.free(0, 0);
    expect(allocator.counter.reserved).toBe(0);
  });

  it('stays at the same size when the same work repeats', () => {
    const { allocator } = allocatorOf(8);
    const sizes = [100, 5000, 64, 300_000, 12_345, 1, 800_000];
    const round = () => {
      const blocks = sizes.map((bytes) => ({ bytes, ptr: allocator.alloc(bytes) }));
      for (const { ptr, bytes } of blocks.reverse()) allocator.free(ptr, bytes);
      return allocator.counter.reserved;
    };
    const first = round();
    for (let i = 0; i < 50; i++) expect(round()).toBe(first);
    expect(allocator.counter.allocated).toBe(0);
  });

  it('hands out aligned blocks that never overlap, and counts them exactly', () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: 1, max: 200_000 }), fc.nat(9)));
    fc.assert(
      fc.property(steps, (list) => {
        const { allocator } = allocatorOf(64);
        const live: { ptr: number; bytes: number }[] = [];
        for (const [bytes, choice] of list) {
          if (choice < 4 && live.length > 0) {
            const [gone] = live.splice(choice % live.length, 1);
            allocator.free(gone!.ptr, gone!.bytes);
            continue;
          }
          const ptr = allocator.alloc(bytes);
          expect(ptr % alignment).toBe(0);
          for (const other of live) {
            const apart = ptr + bytes <= other.ptr || other.ptr + alignedBytes(other.bytes) <= ptr;
            expect(apart).toBe(true);
          }
          live.push({ ptr, bytes });
        }
        const expected = live.reduce((sum, { bytes }) => sum + alignedBytes(bytes), 0);
        expect(allocator.counter.allocated).toBe(expected);
      }),
      { numRuns: 60 },
    );
  });
});
