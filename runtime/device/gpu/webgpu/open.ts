import { floatStorage, typedStorage } from '../core/element-storage.ts';
import { GpuDevice } from '../gpu-device.ts';
import type { OpenDeviceOptions } from '../init.ts';
import { GpuCore } from './gpu-core.ts';
import { GpuJsBackend } from './gpujs.ts';
import { lanesOf } from './lanes.ts';
import { WgslKernels } from './own-kernels.ts';

export async function openDevice(options: OpenDeviceOptions): Promise<GpuDevice> {
  const backend = await GpuJsBackend.open(options);
  const isGpuJsAlone = options.kernels === 'gpu.js';
  const lanes = options.subgroups ? await lanesOf(backend.device, backend.smallestSubgroup) : 1;
  const core = new GpuCore(backend, options.kernelCapacity, { isGpuJsAlone, lanes });
  return new GpuDevice(core, {
    api: 'webgpu',
    adapter: backend.adapter,
    lanes,
    missingKernels: options.missingKernels,
    storage: isGpuJsAlone ? floatStorage : typedStorage,
    ownKernels: isGpuJsAlone ? null : new WgslKernels(core),
  });
}
