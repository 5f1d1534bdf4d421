import { DeviceError } from '../../errors/errors.ts';
import type { UserPosition } from '../../errors/position.ts';
import { messageOf } from './node-webgpu.ts';

/** gpu.js or the driver took offence at a kernel's text. */
export function buildError(op: string, cause: unknown, at?: UserPosition): DeviceError {
  return new DeviceError({
    what: `${op}: its GPU kernel could not be built`,
    given: messageOf(cause),
    expected: "source that gpu.js and the adapter's driver accept",
    remedy: "report it, and move the operands to the CPU meanwhile: await x.toAsync('cpu')",
    at,
    cause,
  });
}

/** WebGPU failed: no memory, a lost device. */
export function runError(op: string, cause: unknown): DeviceError {
  return new DeviceError({
    what: `${op}: the GPU failed`,
    given: messageOf(cause),
    expected: 'a device that is there and has memory left',
    remedy: "use smaller tensors, call destroyGpu() and init('gpu') again, or stay on the CPU",
    cause,
  });
}

/** Something was asked of a GPU that was given back. */
export function closedError(op: string): DeviceError {
  return new DeviceError({
    what: `${op}: the GPU was given back`,
    given: 'a device after destroyGpu()',
    expected: 'a device in use',
    remedy: "call await init('gpu') and make the tensors anew",
  });
}
