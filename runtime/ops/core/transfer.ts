import type { Device } from '../../device/device.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { type OpRecord, saving } from '../record/define-op.ts';
import { bind1 } from './bind.ts';
import { moveOperandsBy } from './guarded-op.ts';

const records = new WeakMap<Device, OpRecord>();

/** Returns a contiguous copy on another device, with gradients flowing through; x itself if it is already there. */
export function transfer(x: Tensor, device: Device): Tensor {
  return x.device === device ? x : bind1(transferTo(device), [x], { device: device.name });
}

moveOperandsBy(transfer);

/** (x, any strides) → a contiguous copy on `device`; its gradient goes back to x's device. One record per device. */
export function transferTo(device: Device): OpRecord {
  let record = records.get(device);
  if (!record) {
    record = {
      name: 'to',
      operands: [{ name: 'x', use: 'data' }],
      variadic: false,
      infer: ([x]) => [{ dtype: x!.dtype, shape: x!.shape }],
      kernel: { kind: 'transfer' },
      layout: 'any',
      inPlace: false,
      target: device,
      vjp: { x: saving({ x: 'shape' }, ({ x }, dy) => transfer(dy, x.device)) },
    };
    records.set(device, record);
  }
  return record;
}
