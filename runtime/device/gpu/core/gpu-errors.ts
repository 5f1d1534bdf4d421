import { DeviceError, OutOfMemoryError } from '../../../errors/errors.ts';
import type { UserPosition } from '../../../errors/position.ts';
import { messageOf } from './node-webgpu.ts';

/** Returns the error for a kernel text that gpu.js or the driver rejected. */
export function buildError(op: string, cause: unknown): DeviceError {
  return new DeviceError({
    what: `${op}: its GPU kernel could not be built`,
    given: messageOf(cause),
    expected: "source that gpu.js and the adapter's driver accept",
    remedy: "report it, and move the operands to the CPU meanwhile: await x.toAsync('cpu')",
    cause,
  });
}

/** Returns the error for a view whose elements gpu.js kernels can't index. */
export function tooLargeForGpuJs(op: string, bytes: number): DeviceError {
  return new DeviceError({
    what: `${op}: its GPU kernel numbers elements in float32`,
    given: `a tensor in a buffer of ${bytes / 4} elements`,
    expected: 'at most 2^24 elements',
    remedy: "copy the view first: x.clone(); or stay on the CPU: await x.toAsync('cpu')",
  });
}

/** Returns the error for a failure of WebGPU or WebGL: out of memory, a lost device. */
export function runError(op: string, cause: unknown): DeviceError {
  return new DeviceError({
    what: `${op}: the GPU failed`,
    given: messageOf(cause),
    expected: 'an available device with free memory',
    remedy:
      "use smaller tensors, call await shutdown('gpu') and init('gpu') again, or stay on the CPU",
    cause,
  });
}

/** Returns the error for a request to a closed GPU. */
export function closedError(op: string): DeviceError {
  return new DeviceError({
    what: `${op}: the GPU was shut down`,
    given: "a device after shutdown('gpu')",
    expected: 'a device in use',
    remedy: "call await init('gpu') and make the tensors again",
  });
}

/** WebGPU's report of a lost device. */
export type LostInfo = Pick<GPUDeviceLostInfo, 'reason' | 'message'>;

/** Returns the error for a lost device: the driver was reset or the GPU removed, and all its data is gone. */
export function lostError(op: string, { reason, message }: LostInfo): DeviceError {
  return new DeviceError({
    what: `${op}: the GPU was lost`,
    given: message || reason || 'a device that is gone',
    expected: 'a device in use',
    remedy: "call await init('gpu') again, which opens another device, and make the tensors again",
  });
}

/** The op that requested a buffer, and the user's line. */
interface BufferRequest {
  readonly op: string;
  readonly at: UserPosition | undefined;
}

export function noMemory(
  bytes: number,
  cause: unknown,
  { op, at }: Partial<BufferRequest> = {},
): OutOfMemoryError {
  return new OutOfMemoryError({
    what: `${op || 'gpu'}: out of memory on the GPU`,
    given: `a buffer of ${bytes} bytes, which the GPU could not make: ${firstLine(messageOf(cause))}`,
    expected: 'at most the free memory of the GPU',
    remedy:
      'use a smaller batch, dispose of tensors or work inside tidy(), or move tensors to the CPU device',
    at,
    cause,
  });
}

/** Returns the first line; Dawn adds a line for each enclosing call. */
function firstLine(text: string): string {
  return text.split('\n')[0]!;
}
