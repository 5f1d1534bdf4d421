import type { Device } from '../../runtime/device/device.ts';
import type { Frame } from '../vm/bytecode/frame.ts';

/**
 * Returns the device selected by a `deviceGuard` around the frame: null if the guard selects none, undefined if the
 * device at entry is still selected. Frames don't know the type of devices, but nothing else is ever stored there.
 */
export function guardOf({ guard }: Frame): Device | null | undefined {
  return guard as Device | null | undefined;
}
