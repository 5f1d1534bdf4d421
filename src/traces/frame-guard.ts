import type { Device } from '../../runtime/device/device.ts';
import type { Frame } from '../vm/bytecode/frame.ts';

/**
 * The device that a `deviceGuard` around the frame chose: null where it chose none, undefined for what held at
 * the entry. Frames know no devices; what makes them puts nothing else there.
 */
export function guardOf({ guard }: Frame): Device | null | undefined {
  return guard as Device | null | undefined;
}
