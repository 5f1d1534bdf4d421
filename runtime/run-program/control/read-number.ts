import type { TensorMeta } from '../../device/tensor-meta.ts';
import { numbersOf } from '../../spec/stored-numbers.ts';
import type { Slot } from '../scope/scope.ts';

/** Reads the number in a one-element value of any dtype, which waits for the device. */
export function readNumber(meta: TensorMeta, slot: Slot): number {
  return numbersOf(meta.device.downloadSync(meta, slot), meta.dtype)[0]!;
}
