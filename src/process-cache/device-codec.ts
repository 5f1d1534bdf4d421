import { deviceNamed, deviceNames } from '../../runtime/device/current.ts';
import type { Device } from '../../runtime/device/device.ts';
import type { Codec } from './codec.ts';
import { unfit } from './live-reader.ts';

/** A device by name; a device that this process hasn't opened fits no entry. */
export const device: Codec<Device> = {
  write: ({ name }) => name,
  read(field) {
    const name = field.string();
    return deviceNames().includes(name) ? deviceNamed(name) : unfit(`no device ${name}`);
  },
};
