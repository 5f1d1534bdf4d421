import { floatStorage, typedStorage } from '../core/element-storage.ts';
import { GpuDevice } from '../gpu-device.ts';
import type { OpenDeviceOptions } from '../init.ts';
import { GpuCore } from './gpu-core.ts';
import { GpuJsBackend } from './gpujs.ts';
import { WgslKernels } from './own-kernels.ts';

export async function openDevice(options: OpenDeviceOptions): Promise<GpuDevice> {
  const backend = await GpuJsBackend.open(options);
  const isGpuJsAlone = options.kernels === 'gpu.js';
  const core = new GpuCore(backend, options.kernelCapacity, isGpuJsAlone);
  return new GpuDevice(core, {
    api: 'webgpu',
    adapter: backend.adapter,
    missingKernels: options.missingKernels,
    storage: isGpuJsAlone ? floatStorage : typedStorage,
    ownKernels: isGpuJsAlone ? null : new WgslKernels(core),
  });
}
