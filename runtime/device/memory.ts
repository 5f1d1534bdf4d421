/** `memory.…`: statistics and events of a device's memory. */

import type { FreeMemory } from '../memory/allocator.ts';
import { events } from '../memory/events.ts';
import type { MemoryStats } from '../memory/stats.ts';
import { expectArguments } from '../options/expect-options.ts';
import { text } from '../options/option-kinds.ts';
import { currentDevice, deviceOf } from './current.ts';
import type { Device } from './device.ts';

export type { FreeMemory } from '../memory/allocator.ts';
export { logEvents as log } from '../memory/event-log.ts';
export { recordEvents as record } from '../memory/events.ts';

const chosen = (device: Device | string | undefined): Device =>
  device === undefined ? currentDevice() : deviceOf(device);

/** Returns bytes in use, reserved bytes, their peaks, and counts since the last `reset`. */
export function stats(device?: Device | string): MemoryStats {
  return chosen(device).allocator.counter.snapshot();
}

/** The fragmentation of a device's free memory. */
export interface Fragmentation extends FreeMemory {
  /** 1 − largest / free: 0 if free memory is contiguous, or none is free. */
  readonly share: number;
}

/**
 * Returns the reserved but unused bytes on a device, and their fragmentation. Visits all blocks. The measure is
 * from Wilson et al., "Dynamic Storage Allocation" (1995).
 */
export function fragmentation(device?: Device | string): Fragmentation {
  const { free, largest } = chosen(device).allocator.freeMemory();
  return { free, largest, share: free === 0 ? 0 : 1 - largest / free };
}

/** Resets peaks to the current use, and counts to 0. */
export function reset(device?: Device | string): void {
  chosen(device).allocator.counter.reset();
}

/** Inserts a marker into the event stream. */
export function mark(label: string): void {
  expectArguments('memory.mark', { label }, { label: text });
  events.mark(label);
}
