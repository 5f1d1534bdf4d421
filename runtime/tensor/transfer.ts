import { gradEnabled } from '../autograd/grad-mode.ts';
import { deviceNamed } from '../device/current.ts';
import type { Device } from '../device/device.ts';
import { AutogradError } from '../errors/errors.ts';
import { events } from '../memory/events.ts';
import { cast } from '../ops/cast.ts';
import { newHolder } from '../ops/eager.ts';
import { type DType, dtypes } from './dtype.ts';
import { contiguousMeta, formatSpec } from './meta.ts';
import { Tensor } from './tensor.ts';

export type TransferTarget = DType | Device | (string & {});

function isDType(target: TransferTarget): target is DType {
  return typeof target === 'string' && target in dtypes;
}

/** Another dtype (recorded for backward) or another device (a new leaf). */
export function moveTo(x: Tensor, target: TransferTarget): Tensor {
  if (isDType(target)) return cast(x, target);
  const device = typeof target === 'string' ? deviceNamed(target) : target;
  return x.device === device ? x : transfer(x, device);
}

function transfer(x: Tensor, device: Device): Tensor {
  if (x.requiresGrad && gradEnabled()) {
    throw new AutogradError({
      what: 'to: a transfer between devices is not recorded for backward',
      given: `a ${formatSpec(x)} tensor on ${x.device.name} that requires a gradient`,
      expected: 'a tensor without gradient, or gradients switched off',
      remedy: 'move parameters inside noGrad(() => …) before computing with them',
    });
  }
  x.holderFor('to');
  const meta = contiguousMeta(x, device);
  // A device that counts only has nothing to copy from, and nothing to copy to.
  const data = device.kind === 'meta' ? null : x.device.downloadSync(x, x);
  const result = new Tensor(meta, newHolder(device, x.dtype, x.shape));
  if (data) {
    device.upload(data, meta, result);
    const { name: to } = device;
    const op = 'to';
    if (events.active) {
      events.emit({ kind: 'copy', from: x.device.name, to, bytes: data.byteLength, op });
    }
  }
  return result;
}
