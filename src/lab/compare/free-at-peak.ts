import type { Device } from '../../../runtime/device/device.ts';
import type { FreeMemory } from '../../../runtime/memory/allocator.ts';
import { events } from '../../../runtime/memory/events.ts';

/**
 * Returns the device's reserved and free bytes at the last time that `peak` bytes are allocated in `body`; null if
 * that never happens.
 */
export function freeAtPeak(device: Device, peak: number, body: () => void): FreeMemory | null {
  let found: FreeMemory | null = null;
  const stop = events.subscribe((event) => {
    if (event.kind !== 'alloc' || event.device !== device.name) return;
    if (event.allocated === peak) found = device.allocator.freeMemory();
  });
  try {
    body();
  } finally {
    stop();
  }
  return found;
}
