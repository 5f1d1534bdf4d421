import { vi } from 'vitest';
import { cpu } from '../../runtime/device/cpu/cpu-device.ts';
import type { Region } from '../../runtime/memory/region.ts';
import { OutOfMemoryError } from '../../src/index.ts';

/** From now on the device has this many bytes beside those in use; blocks of runs count. `vi.restoreAllMocks()` ends it. */
export function limitMemory(bytes: number): void {
  const { allocator } = cpu;
  const [alloc, free] = [allocator.alloc.bind(allocator), allocator.free.bind(allocator)];
  const open = allocator.openRegion!.bind(allocator);
  let left = bytes;
  const take = (wanted: number): void => {
    if (wanted <= left) {
      left -= wanted;
      return;
    }
    throw new OutOfMemoryError({
      what: 'alloc: no memory',
      given: `${wanted} bytes`,
      expected: `at most ${left}`,
      remedy: 'none: this is a test',
    });
  };
  vi.spyOn(allocator, 'alloc').mockImplementation((wanted) => {
    take(wanted);
    return alloc(wanted);
  });
  vi.spyOn(allocator, 'free').mockImplementation((ptr, size) => {
    free(ptr, size);
    left += size;
  });
  vi.spyOn(allocator, 'openRegion').mockImplementation((wanted) => {
    take(wanted);
    const region = open(wanted);
    onEmpty(region, () => {
      left += wanted;
    });
    return region;
  });
}

/** Calls back when the block goes back to the allocator. */
function onEmpty(region: Region, then: () => void): void {
  const [free, close] = [region.free.bind(region), region.close.bind(region)];
  let [isOpen, isBack] = [true, false];
  const look = (): void => {
    if (isOpen || isBack || !region.isEmpty) return;
    isBack = true;
    then();
  };
  vi.spyOn(region, 'free').mockImplementation((ptr, size) => {
    free(ptr, size);
    look();
  });
  vi.spyOn(region, 'close').mockImplementation(() => {
    close();
    isOpen = false;
    look();
  });
}
