import { vi } from 'vitest';
import { cpu } from '../../runtime/device/cpu/cpu-device.ts';
import type { Device } from '../../runtime/device/device.ts';
import { OutOfMemoryError } from '../../src/index.ts';

/**
 * The allocation number `nth` on the device from now on fails, once; a run's block is one, too.
 * `vi.restoreAllMocks()` ends it.
 */
export function failAt(nth: number, { allocator }: Device = cpu): void {
  const [alloc, open] = [allocator.alloc.bind(allocator), allocator.openRegion!.bind(allocator)];
  let count = 0;
  const take = <T>(bytes: number, allocate: (bytes: number) => T): T => {
    // Empty tensors own no memory.
    if (bytes === 0 || count++ !== nth) return allocate(bytes);
    throw new OutOfMemoryError({
      what: 'alloc: no memory',
      given: `${bytes} bytes`,
      expected: 'less',
      remedy: 'none: this is a test',
    });
  };
  vi.spyOn(allocator, 'alloc').mockImplementation((bytes) => take(bytes, alloc));
  vi.spyOn(allocator, 'openRegion').mockImplementation((bytes) => take(bytes, open));
}
