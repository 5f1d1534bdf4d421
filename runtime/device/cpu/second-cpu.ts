import { registerDevice } from '../current.ts';
import type { Device } from '../device.ts';
import { CpuDevice } from './cpu-device.ts';

let known: Device | null = null;

/**
 * The device `cpu:1`: computed by the CPU, with tensors and statistics of its own. Programs of two devices can be
 * tried, tested and measured on it where there is no GPU.
 */
export function secondCpu(): Device {
  if (!known) {
    known = new CpuDevice('cpu:1');
    registerDevice(known);
  }
  return known;
}
