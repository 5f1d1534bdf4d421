/** `memory.…`: what a device's memory holds, and what happened to it. */

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

const asked = (device: Device | string | undefined): Device =>
  device === undefined ? currentDevice() : deviceOf(device);

/** Bytes in use, reserved, their peaks, and counts since the last `reset`. */
export function stats(device?: Device | string): MemoryStats {
  return asked(device).allocator.counter.snapshot();
}

/** How much of a device's free memory is of no use for one large tensor. */
export interface Fragmentation extends FreeMemory {
  /** 1 − largest / free: 0 when all of it lies in one piece, or nothing is free. */
  readonly share: number;
}

/**
 * Bytes that are reserved on a device and not in use, and how scattered they are. Walks over all blocks. The measure
 * is that of Wilson and others, "Dynamic Storage Allocation" (1995).
 */
export function fragmentation(device?: Device | string): Fragmentation {
  const { free, largest } = asked(device).allocator.freeMemory();
  return { free, largest, share: free === 0 ? 0 : 1 - largest / free };
}

/** Peaks start again from what is in use now; counts start at 0. */
export function reset(device?: Device | string): void {
  asked(device).allocator.counter.reset();
}

/** Puts a marker into the event stream. */
export function mark(label: string): void {
  expectArguments('memory.mark', { label }, { label: text });
  events.mark(label);
}
