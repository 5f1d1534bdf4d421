import { DeviceError } from '../errors/errors.ts';
import { expectSync } from '../options/expect-arguments.ts';
import { shown } from '../options/expect-options.ts';
import type { Device } from './device.ts';

const devices = new Map<string, Device>();
let current: Device | null = null;
/** The device of the innermost `deviceGuard`; null outside any. */
let guarding: Device | null = null;
/** The device that was current before the outermost `deviceGuard`. */
let unguarded: Device | null = null;

/** The initial default device, if TOSTATIC_DEVICE names one. */
const preferred = globalThis.process?.env?.TOSTATIC_DEVICE;

/** Whether `init` has registered another computing device; otherwise `deviceGuard` can't affect captured code. */
let hasMore = false;

/** Registers a device by name; the first one, or the one named by TOSTATIC_DEVICE, becomes current. */
export function registerDevice(device: Device): void {
  devices.set(device.name, device);
  hasMore ||= device.name !== 'cpu' && device.name !== 'meta' && !device.expectLanded;
  if (device.name === preferred) current = device;
  else current ??= device;
}

/** Returns the device where tensors are created by default. */
export function currentDevice(): Device {
  return current ?? deviceNamed('cpu');
}

/** Returns the innermost `deviceGuard`'s device; null if each op runs where its operands are. */
export function guardingDevice(): Device | null {
  return guarding;
}

/** Whether `init` has registered a device besides `cpu` and `meta`. */
export function hasMoreDevices(): boolean {
  return hasMore;
}

/** Runs `body` as under `deviceGuard(device, …)`; undefined keeps the current guard. */
export function withGuard<T>(device: Device | null | undefined, body: () => T): T {
  return device === undefined ? body() : deviceGuard(device, body);
}

/** Returns the names of the registered devices. */
export const deviceNames = (): string[] => [...devices.keys()];

/** Returns a device by name; `gpu:0` is the GPU that `init` opened. Throws DeviceError for an unknown name. */
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

/** Sets the device that new tensors are created on. Throws DeviceError for an unknown name. */
export function setDevice(device: Device | string): void {
  current = deviceOf(device);
}

/**
 * Runs `body` with tensors created and ops computed on `device`: operands on other devices are copied, and gradients
 * flow through the copies. An op on GPU tensors is computed by the CPU and its result goes back to the GPU, because GPU
 * data can't be read synchronously. If any operand is on `meta`, the others move there. With null, as without a guard,
 * tensors are created on the default device and each op runs where its operands are. Throws DeviceError for anything
 * that is not a device.
 */
export function deviceGuard<T>(device: Device | string | null, body: () => T): T {
  expectSync('deviceGuard', body, "deviceGuard('cpu', () => model.forward(x))");
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

/** Returns a device, given itself or its name; throws DeviceError for anything else. */
export function deviceOf(device: Device | string): Device {
  const isDevice = typeof device === 'object' && device !== null && 'allocator' in device;
  return isDevice ? device : deviceNamed(device as string);
}
