import { gradEnabled, withGradMode } from '../autograd/grad-mode.ts';
import type { Device } from '../device/device.ts';
import { downloadAhead } from '../device/downloads.ts';
import { transfer } from '../ops/core/transfer.ts';
import type { Tensor } from '../tensor/tensor.ts';

/**
 * The tensor on another device, through which gradients flow; itself where it is there already. Throws DeviceError
 * for data of a device that can only be read asynchronously.
 */
export function moveToDevice(x: Tensor, device: Device): Tensor {
  if (x.device === device) return x;
  if (!x.traced) x.holderFor('to');
  return transfer(x, device);
}

/** Returns the tensor on another device, reading it from one that can only be read asynchronously. */
export async function moveToDeviceAsync(x: Tensor, device: Device): Promise<Tensor> {
  if (x.device === device) return x;
  x.holderFor('to');
  const mode = gradEnabled();
  // A device that counts only has nothing to copy from.
  if (device.kind !== 'meta') await downloadAhead(x, x);
  return withGradMode(mode, () => moveToDevice(x, device));
}
