import { registerDevice } from '../current.ts';
import { softwareAsked } from './adapter.ts';
import type { GpuDevice, KernelChoice } from './gpu-device.ts';
import type { MissingKernelPolicy } from './missing-kernels.ts';

export interface GpuOptions {
  /** Admits adapters that compute on the CPU; TOSTATIC_GPU_SOFTWARE=1 does the same. */
  readonly allowSoftware?: boolean;
  /**
   * Ops that the GPU has no kernel for: `cpu` lets the CPU compute them, copying operands and results, with
   * a warning per op; `error` throws DeviceError.
   */
  readonly missingKernels?: MissingKernelPolicy;
  /** `gpu.js`: its kernels alone, one per op and thread; `all`, the default, has our own where they are better. */
  readonly kernels?: KernelChoice;
  /** Compiled kernels of either kind that are kept; the least recently used ones go first. */
  readonly kernelCapacity?: number;
}

let opened: Promise<GpuDevice> | null = null;
/** gpu.js has one device at a time: the last one goes before the next one comes. */
let closing: Promise<void> = Promise.resolve();

/**
 * The GPU, ready for use and known by the name 'gpu'; the same one when called again, unless that was lost. Throws
 * DeviceError where there is none.
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
  return opened;
}

async function open(options: GpuOptions): Promise<GpuDevice> {
  await closing;
  // Here, so that nothing of gpu.js is loaded before somebody asks for a GPU.
  const [{ GpuJsBackend }, { GpuDevice }] = await Promise.all([
    import('./gpujs.ts'),
    import('./gpu-device.ts'),
  ]);
  const allowSoftware = options.allowSoftware ?? softwareAsked();
  const device = new GpuDevice(await GpuJsBackend.open({ allowSoftware }), {
    kernelCapacity: options.kernelCapacity ?? 512,
    missingKernels: options.missingKernels ?? 'cpu',
    kernels: options.kernels ?? 'all',
  });
  registerDevice(device);
  return device;
}

/** Gives the GPU back when reads under way have ended; its tensors are lost. */
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
