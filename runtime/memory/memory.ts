/** `memory.…`: what a device's memory holds, and what happened to it. */

import { currentDevice, deviceNamed } from '../device/current.ts';
import type { Device } from '../device/device.ts';
import { events } from './events.ts';
import type { MemoryStats } from './stats.ts';

export { logEvents as log } from './event-log.ts';
export { recordEvents as record } from './events.ts';

function resolve(device: Device | string | undefined): Device {
  if (device === undefined) return currentDevice();
  return typeof device === 'string' ? deviceNamed(device) : device;
}

/** Bytes in use, reserved, their peaks, and counts since the last `reset`. */
export function stats(device?: Device | string): MemoryStats {
  return resolve(device).allocator.counter.snapshot();
}

/** Peaks start again from what is in use now; counts start at 0. */
export function reset(device?: Device | string): void {
  resolve(device).allocator.counter.reset();
}

/** Puts a marker into the event stream. */
export function mark(label: string): void {
  events.mark(label);
}
