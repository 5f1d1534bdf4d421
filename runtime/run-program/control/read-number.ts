import type { TensorMeta } from '../../device/tensor-meta.ts';
import { numbersOf } from '../../spec/stored-numbers.ts';
import type { Slot } from '../scope/scope.ts';

/** The number in a value of one element, of any dtype; waits for the device. */
export function readNumber(meta: TensorMeta, slot: Slot): number {
  return numbersOf(meta.device.downloadSync(meta, slot), meta.dtype)[0]!;
}
