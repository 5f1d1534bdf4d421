import { DeviceError } from '../../errors/errors.ts';
import { registerDevice } from '../current.ts';
import { isSoftwareAllowed } from './core/adapter.ts';
import type { GpuApi, GpuDevice } from './gpu-device.ts';
import type { MissingKernelPolicy } from './missing-kernels.ts';

export interface GpuOptions {
  /** Accepts adapters that compute on the CPU; TOSTATIC_GPU_SOFTWARE=1 does the same. */
  readonly allowSoftware?: boolean;
  /**
   * Handling of ops without a GPU kernel: `cpu` computes them on the CPU, copying operands and results, with a
   * warning per op; `error` throws DeviceError.
   */
  readonly missingKernels?: MissingKernelPolicy;
  /**
   * `gpu.js` uses only its kernels; `all`, the default with WebGPU, uses our own where they are better. WebGL2 can't
   * run those.
   */
  readonly kernels?: 'all' | 'gpu.js';
  /** Whether kernels use the adapter's subgroups, for comparisons. The results are the same. */
  readonly subgroups?: boolean;
  /** WebGPU by default; WebGL2 in pages without a WebGPU adapter. */
  readonly api?: GpuApi;
  /** The number of cached compiled kernels of each kind; least recently used ones are evicted. */
  readonly kernelCapacity?: number;
}

/** `GpuOptions` with defaults. */
export interface OpenDeviceOptions {
  readonly allowSoftware: boolean;
  readonly kernelCapacity: number;
  readonly missingKernels: MissingKernelPolicy;
  /** Null if the caller hasn't chosen. */
  readonly kernels: 'all' | 'gpu.js' | null;
  readonly subgroups: boolean;
}

let opened: Promise<GpuDevice> | null = null;
/** gpu.js supports one device at a time, so the last device is closed before the next one opens. */
let closing: Promise<void> = Promise.resolve();

/**
 * Initializes the GPU and registers it as 'gpu'; returns the same device when called again, unless it was lost.
 * Throws DeviceError if there is none, or if the open one uses another API than `options.api`.
 */
export async function initGpu(options: GpuOptions = {}): Promise<GpuDevice> {
  const last = opened;
  const known = await last?.catch(() => null);
  // Another call may have opened a device in the meantime.
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
  // Imported here, so that gpu.js is not loaded before a GPU is requested.
  const { openDevice } =
    api === 'webgl2' ? await import('./webgl/open.ts') : await import('./webgpu/open.ts');
  const device = await openDevice({
    allowSoftware: options.allowSoftware ?? isSoftwareAllowed(),
    kernelCapacity: options.kernelCapacity ?? 512,
    missingKernels: options.missingKernels ?? 'cpu',
    kernels: options.kernels ?? null,
    subgroups: options.subgroups ?? true,
  });
  registerDevice(device);
  return device;
}

/** Returns WebGPU, unless this is a page without a WebGPU adapter and WebGL2 supports the request. */
async function apiHere({ kernels }: GpuOptions): Promise<GpuApi> {
  if (kernels === 'all') return 'webgpu';
  const { hasWebGl } = await import('./webgl/context.ts');
  if (!hasWebGl()) return 'webgpu';
  const adapter = await navigator.gpu?.requestAdapter();
  return adapter ? 'webgpu' : 'webgl2';
}

/** Frees the GPU after pending reads have ended; its tensors are lost. */
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
