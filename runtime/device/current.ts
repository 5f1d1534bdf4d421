import { DeviceError } from '../errors/errors.ts';
import type { Device } from './device.ts';

const devices = new Map<string, Device>();
let current: Device | null = null;
/** The device of the innermost `deviceGuard`; null outside of one. */
let guarding: Device | null = null;
/** What was current before the outermost `deviceGuard`. */
let unguarded: Device | null = null;

/** Where tensors are made from the start, when TOSTATIC_DEVICE names it. */
const wanted = globalThis.process?.env?.TOSTATIC_DEVICE;

/** Where there is no GPU, no op has operands that `deviceGuard` would have to move. */
let gpuIsKnown = false;

/** Makes a device known by name; the first one, or the one that TOSTATIC_DEVICE names, becomes current. */
export function registerDevice(device: Device): void {
  devices.set(device.name, device);
  gpuIsKnown ||= device.kind === 'gpu';
  if (device.name === wanted) current = device;
  else current ??= device;
}

/** Where tensors are made when nothing else is said. */
export function currentDevice(): Device {
  return current ?? deviceNamed('cpu');
}

/** The device that computes ops, whatever the device of their operands; null: each where its operands are. */
export function guardingDevice(): Device | null {
  return gpuIsKnown ? guarding : null;
}

/** Whether `init('gpu')` has made a GPU known. */
export function hasGpu(): boolean {
  return gpuIsKnown;
}

/** A device by its name; `gpu:0` is the GPU that `init` opened. Throws DeviceError for any other. */
export function deviceNamed(name: string): Device {
  const device = devices.get(name === 'gpu:0' ? 'gpu' : name);
  if (device) return device;
  const isGpu = typeof name === 'string' && name.startsWith('gpu');
  throw new DeviceError({
    what: 'no such device',
    given: typeof name === 'string' ? `'${name}'` : typeof name,
    expected: `one of ${[...devices.keys()].map((known) => `'${known}'`).join(', ')}`,
    remedy: isGpu ? "call await init('gpu') first; there is one GPU, gpu:0" : 'check the name',
  });
}

export function setDevice(device: Device | string): void {
  current = resolve(device);
}

/**
 * Inside `body`, tensors are made on `device` and ops are computed there: of ops whose operands are elsewhere,
 * the operands are copied (results that the CPU computes from a GPU's tensors go back to the GPU, whose memory
 * can't be read at once). Null: as if outside of any guard, tensors are made on the default device and each op
 * runs where its operands are. Throws DeviceError for anything that is no device.
 */
export function deviceGuard<T>(device: Device | string | null, body: () => T): T {
  const outer = { current, guarding, unguarded };
  if (guarding === null) unguarded = current;
  const next = device === null ? null : resolve(device);
  current = next ?? unguarded;
  guarding = next;
  try {
    return body();
  } finally {
    ({ current, guarding, unguarded } = outer);
  }
}

function resolve(device: Device | string): Device {
  const given: unknown = device;
  const isDevice = typeof given === 'object' && given !== null && 'allocator' in given;
  return isDevice ? (given as Device) : deviceNamed(given as string);
}
