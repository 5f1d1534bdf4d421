import { registerDevice } from '../current.ts';
import type { Device } from '../device.ts';
import { CpuDevice } from './cpu-device.ts';

let known: Device | null = null;

/**
 * Returns the device `cpu:1`: computed by the CPU, with separate tensors and statistics. For developing and
 * testing programs on two devices without a GPU.
 */
export function secondCpu(): Device {
  if (!known) {
    known = new CpuDevice('cpu:1');
    registerDevice(known);
  }
  return known;
}
