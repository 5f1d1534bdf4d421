import { gradEnabled, withGradMode } from '../autograd/grad-mode.ts';
import type { Device } from '../device/device.ts';
import { downloadAhead } from '../device/downloads.ts';
import { transfer } from '../ops/core/transfer.ts';
import type { Tensor } from '../tensor/tensor.ts';

/**
 * Copies the tensor to another device, with gradients flowing through the copy; returns the tensor itself if it is
 * already there. Throws DeviceError if the source device can only be read asynchronously.
 */
export function moveToDevice(x: Tensor, device: Device): Tensor {
  if (x.device === device) return x;
  if (!x.traced) x.holderFor('to');
  return transfer(x, device);
}

/** Like `moveToDevice`, but also reads devices that can only be read asynchronously. */
export async function moveToDeviceAsync(x: Tensor, device: Device): Promise<Tensor> {
  if (x.device === device) return x;
  x.holderFor('to');
  const mode = gradEnabled();
  // A counting device has no data to copy.
  if (device.kind !== 'meta') await downloadAhead(x, x);
  return withGradMode(mode, () => moveToDevice(x, device));
}
