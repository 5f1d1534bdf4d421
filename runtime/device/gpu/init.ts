import { DeviceError } from '../../errors/errors.ts';
import { registerDevice } from '../current.ts';
import { softwareAsked } from './core/adapter.ts';
import type { GpuApi, GpuDevice } from './gpu-device.ts';
import type { MissingKernelPolicy } from './missing-kernels.ts';

export interface GpuOptions {
  /** Admits adapters that compute on the CPU; TOSTATIC_GPU_SOFTWARE=1 does the same. */
  readonly allowSoftware?: boolean;
  /**
   * Ops that the GPU has no kernel for: `cpu` lets the CPU compute them, copying operands and results, with
   * a warning per op; `error` throws DeviceError.
   */
  readonly missingKernels?: MissingKernelPolicy;
  /**
   * `gpu.js`: its kernels alone, one per op and thread; `all`, the default over WebGPU, has our own where they are
   * better. WebGL2 can't run those.
   */
  readonly kernels?: 'all' | 'gpu.js';
  /** False: kernels don't use the adapter's subgroups. For comparisons; results are the same. */
  readonly subgroups?: boolean;
  /** By default WebGPU; WebGL2 in pages where that has no adapter. */
  readonly api?: GpuApi;
  /** Compiled kernels of either kind that are kept; the least recently used ones go first. */
  readonly kernelCapacity?: number;
}

/** `GpuOptions` with what is omitted filled in. */
export interface OpenDeviceOptions {
  readonly allowSoftware: boolean;
  readonly kernelCapacity: number;
  readonly missingKernels: MissingKernelPolicy;
  /** Null where the caller has not chosen. */
  readonly kernels: 'all' | 'gpu.js' | null;
  readonly subgroups: boolean;
}

let opened: Promise<GpuDevice> | null = null;
/** gpu.js has one device at a time: the last one goes before the next one comes. */
let closing: Promise<void> = Promise.resolve();

/**
 * The GPU, ready for use and known by the name 'gpu'; the same one when called again, unless that was lost. Throws
 * DeviceError where there is none, and when the open one is of another API than `options.api`.
 */
export async function initGpu(options: GpuOptions = {}): Promise<GpuDevice> {
  const last = opened;
  const known = await last?.catch(() => null);
  // Another call may have opened a device meanwhile.
  if (known?.isLost && opened === last) await destroyGpu();
  if (!opened) {
    const opening = open(options);
    opened = opening;
    opening.catch(() => {
      if (opened === opening) opened = null;
    });
  }
  const device = await opened;
  if (options.api !== undefined && device.api !== options.api) {
    throw otherApi(device.api, options.api);
  }
  return device;
}

function otherApi(api: GpuApi, given: GpuApi): DeviceError {
  return new DeviceError({
    what: `gpu: the device is open over ${api}`,
    given: `api: '${given}'`,
    expected: 'the API of the open device, of which there is one at a time',
    remedy: "await shutdown('gpu') before, which loses its tensors",
  });
}

async function open(options: GpuOptions): Promise<GpuDevice> {
  await closing;
  const api = options.api ?? (await apiHere(options));
  // Here, so that gpu.js is not loaded before a GPU is requested.
  const { openDevice } =
    api === 'webgl2' ? await import('./webgl/open.ts') : await import('./webgpu/open.ts');
  const device = await openDevice({
    allowSoftware: options.allowSoftware ?? softwareAsked(),
    kernelCapacity: options.kernelCapacity ?? 512,
    missingKernels: options.missingKernels ?? 'cpu',
    kernels: options.kernels ?? null,
    subgroups: options.subgroups ?? true,
  });
  registerDevice(device);
  return device;
}

/** WebGPU, unless this is a page without an adapter for it where WebGL2 can do what is requested. */
async function apiHere({ kernels }: GpuOptions): Promise<GpuApi> {
  if (kernels === 'all') return 'webgpu';
  const { hasWebGl } = await import('./webgl/context.ts');
  if (!hasWebGl()) return 'webgpu';
  const adapter = await navigator.gpu?.requestAdapter();
  return adapter ? 'webgpu' : 'webgl2';
}

/** Frees the GPU once reads in progress have ended; its tensors are lost. */
export async function destroyGpu(): Promise<void> {
  const last = opened;
  opened = null;
  const close = async () => {
    const device = await last?.catch(() => null);
    await device?.close();
  };
  const closed = close();
  closing = Promise.allSettled([closing, closed]).then(() => {});
  await closed;
}
