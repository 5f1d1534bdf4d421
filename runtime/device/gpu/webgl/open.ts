import { DeviceError } from '../../../errors/errors.ts';
import { floatStorage } from '../core/element-storage.ts';
import { GpuDevice } from '../gpu-device.ts';
import type { OpenDeviceOptions } from '../init.ts';
import { openContext, releaseContext } from './context.ts';
import { GpuJsTranslator } from './gpujs-glsl.ts';
import { WebGlCore } from './webgl-core.ts';

export async function openDevice(options: OpenDeviceOptions): Promise<GpuDevice> {
  if (options.kernels === 'all') throw noWgsl();
  const context = openContext(options.allowSoftware);
  try {
    const translator = await GpuJsTranslator.open(context);
    return new GpuDevice(new WebGlCore(context, translator, options.kernelCapacity), {
      api: 'webgl2',
      adapter: context.adapter,
      lanes: 1,
      missingKernels: options.missingKernels,
      storage: floatStorage,
      ownKernels: null,
    });
  } catch (cause) {
    releaseContext(context.gl);
    throw cause;
  }
}

function noWgsl(): DeviceError {
  return new DeviceError({
    what: 'gpu: WebGL2 has no kernels in WGSL',
    given: "kernels: 'all' with api: 'webgl2'",
    expected: "kernels: 'gpu.js', which is what WebGL2 has, or api: 'webgpu'",
    remedy: "leave `kernels` out: init('gpu', { api: 'webgl2' })",
  });
}
