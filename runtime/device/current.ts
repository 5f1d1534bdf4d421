import { DeviceError } from '../errors/errors.ts';
import { expectFunction } from '../options/expect-arguments.ts';
import { shown } from '../options/expect-options.ts';
import type { Device } from './device.ts';

const devices = new Map<string, Device>();
let current: Device | null = null;
/** The device of the innermost `deviceGuard`; null outside of one. */
let guarding: Device | null = null;
/** The device that was current before the outermost `deviceGuard`. */
let unguarded: Device | null = null;

/** Where tensors are made from the start, when TOSTATIC_DEVICE names it. */
const wanted = globalThis.process?.env?.TOSTATIC_DEVICE;

/** Whether `init` has made a device known that computes: without one, captured code is the same under every `deviceGuard`. */
let hasMore = false;

/** Makes a device known by name; the first one, or the one that TOSTATIC_DEVICE names, becomes current. */
export function registerDevice(device: Device): void {
  devices.set(device.name, device);
  hasMore ||= device.name !== 'cpu' && device.name !== 'meta' && !device.expectLanded;
  if (device.name === wanted) current = device;
  else current ??= device;
}

/** Where tensors are made when nothing else is said. */
export function currentDevice(): Device {
  return current ?? deviceNamed('cpu');
}

/** The device that computes ops, whatever the device of their operands; null: each where its operands are. */
export function guardingDevice(): Device | null {
  return guarding;
}

/** Whether `init` has made a device known beside `cpu` and `meta`. */
export function hasMoreDevices(): boolean {
  return hasMore;
}

/** Inside `body`, ops are performed as under `deviceGuard(device, …)`; undefined leaves it as it is. */
export function withGuard<T>(device: Device | null | undefined, body: () => T): T {
  return device === undefined ? body() : deviceGuard(device, body);
}

/** The registered devices. */
export const deviceNames = (): string[] => [...devices.keys()];

/** A device by its name; `gpu:0` is the GPU that `init` opened. Throws DeviceError for any other. */
export function deviceNamed(name: string): Device {
  const device = devices.get(name === 'gpu:0' ? 'gpu' : name);
  if (device) return device;
  const isGpu = typeof name === 'string' && /^(?:gpu|cuda|webgpu|mps)/.test(name);
  throw new DeviceError({
    what: 'no such device',
    given: shown(name),
    expected: `one of ${deviceNames()
      .map((known) => `'${known}'`)
      .join(', ')}`,
    remedy: isGpu
      ? "call await init('gpu') first; there is one GPU, gpu:0"
      : "check the name; a dtype is a name like 'float32'",
  });
}

export function setDevice(device: Device | string): void {
  current = deviceOf(device);
}

/**
 * Inside `body`, tensors are made on `device` and ops are computed there: operands that are elsewhere are
 * copied, and gradients flow through the copies. Data that can't be read synchronously stays where it is: of a GPU's
 * tensors the CPU computes an op and its result goes back to the GPU, and what meets tensors of `meta` goes to `meta`. Null:
 * as if outside of any guard, tensors are made on the default device and each op runs where its operands are.
 * Throws DeviceError for anything that is not a device.
 */
export function deviceGuard<T>(device: Device | string | null, body: () => T): T {
  expectFunction('deviceGuard', body);
  const outer = { current, guarding, unguarded };
  if (guarding === null) unguarded = current;
  const next = device === null ? null : deviceOf(device);
  current = next ?? unguarded;
  guarding = next;
  try {
    return body();
  } finally {
    ({ current, guarding, unguarded } = outer);
  }
}

/** The device, or the one of this name; throws DeviceError for anything else. */
export function deviceOf(device: Device | string): Device {
  const given: unknown = device;
  const isDevice = typeof given === 'object' && given !== null && 'allocator' in given;
  return isDevice ? (given as Device) : deviceNamed(given as string);
}
