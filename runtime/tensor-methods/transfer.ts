import { deviceOf } from '../device/current.ts';
import type { Device } from '../device/device.ts';
import { cast } from '../ops/core/cast.ts';
import { expectDTypeName } from '../ops/record/operand-dtypes.ts';
import { type DType, dtypes } from '../spec/dtype.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { moveToDevice, moveToDeviceAsync } from './move-to-device.ts';

export type TransferTarget = DType | Device | (string & {});

function isDType(target: TransferTarget): target is DType {
  return typeof target === 'string' && Object.hasOwn(dtypes, target);
}

/** Returns the device of a target that is not a dtype. A misspelled dtype throws the error for dtypes. */
function deviceFor(target: TransferTarget): Device {
  if (/^(?:u?int|long|float|bfloat|double|half|bool|complex)/.test(String(target)))
    expectDTypeName('to', target as DType);
  return deviceOf(target);
}

/** Converts to another dtype (recorded for backward) or another device (a new leaf). */
export function moveTo(x: Tensor, target: TransferTarget): Tensor {
  if (isDType(target)) return cast(x, target);
  return moveToDevice(x, deviceFor(target));
}

/** Like `moveTo`, but also reads devices that can only be read asynchronously. */
export async function moveToAsync(x: Tensor, target: TransferTarget): Promise<Tensor> {
  if (isDType(target)) return cast(x, target);
  return moveToDeviceAsync(x, deviceFor(target));
}
