import { DeviceError } from '../../../errors/errors.ts';

/** The parts of the package `webgpu` (Dawn for Node) that are used. */
interface WebGpuPackage {
  readonly create: (options: readonly string[]) => GPU;
  readonly globals: object;
}

/** Dawn rounds kernel times to 0.1 ms as a protection against timing attacks, which Node doesn't need. */
const roundedTimes = 'timestamp_quantization';
/**
 * With this Vulkan extension, SwiftShader zeroes workgroup memory with an instruction per word: kernels with
 * several kilobytes take seconds to compile. Without it, Dawn writes a loop.
 */
const zeroedByDriver = 'use_vulkan_zero_initialize_workgroup_memory_extension';

interface WebGpuOptions {
  readonly allowSoftware: boolean;
  readonly packageName?: string;
}

// Not a literal: bundlers must not pull a native package into a page.
const webGpuPackage = 'webgpu';

async function loadPackage(packageName: string): Promise<WebGpuPackage> {
  try {
    return (await import(
      /* @vite-ignore */ /* webpackIgnore: true */ packageName
    )) as WebGpuPackage;
  } catch (cause) {
    throw new DeviceError({
      what: 'gpu: this process has no WebGPU',
      given: `navigator.gpu is missing, and import('${packageName}') failed: ${messageOf(cause)}`,
      expected: "a browser with WebGPU, or Node with the package 'webgpu' beside tostatic",
      remedy: 'npm install webgpu@0.6.2 (on Linux it needs glibc 2.34 or later)',
      cause,
    });
  }
}

/** Ensures that `navigator.gpu` exists, which gpu.js uses. The returned function undoes this. */
export async function provideWebGpu({
  allowSoftware,
  packageName = webGpuPackage,
}: WebGpuOptions): Promise<() => void> {
  if (typeof navigator !== 'undefined' && navigator.gpu) return () => {};
  const { create, globals } = await loadPackage(packageName);
  Object.assign(globalThis, globals);
  // Node 20 has no navigator; later versions have one without `gpu`.
  const ownNavigator = typeof navigator === 'undefined';
  if (ownNavigator)
    Object.defineProperty(globalThis, 'navigator', { value: {}, configurable: true });
  const disabled = [roundedTimes, ...(allowSoftware ? [zeroedByDriver] : [])];
  const gpu = create([`disable-dawn-features=${disabled.join()}`]);
  Object.defineProperty(navigator, 'gpu', { value: gpu, configurable: true });
  return () => {
    Reflect.deleteProperty(navigator, 'gpu');
    if (ownNavigator) Reflect.deleteProperty(globalThis, 'navigator');
  };
}

export function messageOf(error: unknown): string {
  // WebGPU's errors are not instances of `Error`.
  if (typeof error === 'object' && error !== null && 'message' in error && error.message) {
    return String(error.message);
  }
  // Dawn may reject with errors without a message.
  return error instanceof Error ? error.message || error.name : String(error);
}
