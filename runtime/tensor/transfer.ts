import { gradEnabled } from '../autograd/grad-mode.ts';
import { deviceNamed } from '../device/current.ts';
import type { Device } from '../device/device.ts';
import { AutogradError } from '../errors/errors.ts';
import { cast } from '../ops/cast.ts';
import { newHolder } from '../ops/eager.ts';
import { traceStream } from '../trace-log/stream.ts';
import { type DType, dtypes, type TypedArray } from './dtype.ts';
import { contiguousMeta, formatSpec } from './meta.ts';
import { Tensor } from './tensor.ts';

export type TransferTarget = DType | Device | (string & {});

function isDType(target: TransferTarget): target is DType {
  return typeof target === 'string' && target in dtypes;
}

/** Another dtype (recorded for backward) or another device (a new leaf). */
export function moveTo(x: Tensor, target: TransferTarget): Tensor {
  if (isDType(target)) return cast(x, target);
  const device = resolve(target);
  if (x.device === device) return x;
  check(x);
  // A device that counts only has nothing to copy from.
  const data = device.kind === 'meta' ? null : x.device.downloadSync(x, x);
  return place(x, device, data);
}

/** The same from a device that can only be read asynchronously, such as a GPU. */
export async function moveToAsync(x: Tensor, target: TransferTarget): Promise<Tensor> {
  if (isDType(target)) return cast(x, target);
  const device = resolve(target);
  if (x.device === device) return x;
  check(x);
  const data = device.kind === 'meta' ? null : await x.device.download(x, x);
  return place(x, device, data);
}

function resolve(target: Device | string): Device {
  return typeof target === 'string' ? deviceNamed(target) : target;
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
