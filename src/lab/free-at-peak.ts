import type { Device } from '../../runtime/device/device.ts';
import type { FreeMemory } from '../../runtime/memory/allocator.ts';
import { events } from '../../runtime/memory/events.ts';

/**
 * Returns the reserved and free bytes of the device when `peak` bytes are allocated in `body` for the last time. Null
 * when it doesn't come so far.
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
