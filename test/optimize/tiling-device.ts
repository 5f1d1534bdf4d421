import { CpuDevice } from '../../runtime/device/cpu/cpu-device.ts';
import { registerDevice } from '../../runtime/device/current.ts';
import type { Device } from '../../runtime/device/device.ts';

/**
 * A device with the facts of a GPU, for which programs are compiled: it computes attention by tiles, and nothing in rows.
 * It has no kernels for what it fuses.
 */
export const tilingDevice: Device = new CpuDevice('cpu:tiles');
Object.assign(tilingDevice, {
  mostTileColumns: 128,
  mostFusedBuffers: 8,
  innerBytes: 0,
  overwritesOperands: false,
  prepare: () => () => {
    throw new Error('compiled, and not run');
  },
});
registerDevice(tilingDevice);
