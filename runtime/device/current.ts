import { DeviceError } from '../errors/errors.ts';
import type { Device } from './device.ts';

const devices = new Map<string, Device>();
let current: Device | null = null;

/** Where tensors are made from the start, when TOSTATIC_DEVICE names it. */
const wanted = globalThis.process?.env?.TOSTATIC_DEVICE;

/** Makes a device known by name; the first one, or the one that TOSTATIC_DEVICE names, becomes current. */
export function registerDevice(device: Device): void {
  devices.set(device.name, device);
  if (device.name === wanted) current = device;
  else current ??= device;
}

/** Where tensors are made when nothing else is said. */
export function currentDevice(): Device {
  return current ?? deviceNamed('cpu');
}

export function deviceNamed(name: string): Device {
  const device = devices.get(name);
  if (device) return device;
  throw new DeviceError({
    what: 'no such device',
    given: `'${name}'`,
    expected: `one of ${[...devices.keys()].map((known) => `'${known}'`).join(', ')}`,
    remedy: name.startsWith('gpu') ? "call await init('gpu') first" : 'check the name',
  });
}

export function setDevice(device: Device | string): void {
  current = typeof device === 'string' ? deviceNamed(device) : device;
}

/** Inside `body`, tensors are made on `device`. */
export function deviceGuard<T>(device: Device | string, body: () => T): T {
  const outer = current;
  setDevice(device);
  try {
    return body();
  } finally {
    current = outer;
  }
}
