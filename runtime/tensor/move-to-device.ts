import { gradEnabled } from '../autograd/grad-mode.ts';
import type { Device } from '../device/device.ts';
import { AutogradError } from '../errors/errors.ts';
import { newHolder } from '../ops/eager.ts';
import { traceStream } from '../trace-log/stream.ts';
import type { TypedArray } from './dtype.ts';
import { contiguousMeta, formatSpec } from './meta.ts';
import { Tensor } from './tensor.ts';

/** The tensor on another device, as a new leaf; itself where it is there already. */
export function moveToDevice(x: Tensor, device: Device): Tensor {
  if (x.device === device) return x;
  check(x);
  // A device that counts only has nothing to copy from.
  const data = device.kind === 'meta' ? null : x.device.downloadSync(x, x);
  return place(x, device, data);
}

/** The same from a device that can only be read asynchronously. */
export async function moveToDeviceAsync(x: Tensor, device: Device): Promise<Tensor> {
  if (x.device === device) return x;
  check(x);
  const data = device.kind === 'meta' ? null : await x.device.download(x, x);
  return place(x, device, data);
}

function check(x: Tensor): void {
  x.holderFor('to');
  if (!x.requiresGrad || !gradEnabled()) return;
  throw new AutogradError({
    what: 'to: a transfer between devices is not recorded for backward',
    given: `a ${formatSpec(x)} tensor on ${x.device.name} that requires a gradient`,
    expected: 'a tensor without gradient, or gradients switched off',
    remedy: 'move parameters inside noGrad(() => …) before computing with them',
  });
}

function place(x: Tensor, device: Device, data: TypedArray | null): Tensor {
  const meta = contiguousMeta(x, device);
  if (traceStream.active) traceStream.transform('to', x, meta);
  const result = new Tensor(meta, newHolder(device, x.dtype, x.shape));
  if (data) device.upload(data, meta, result);
  return result;
}
