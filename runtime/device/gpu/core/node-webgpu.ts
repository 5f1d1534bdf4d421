import { DeviceError } from '../../../errors/errors.ts';

/** The part of the package `webgpu` (Dawn for Node) that we use. */
interface WebGpuPackage {
  readonly create: (options: readonly string[]) => GPU;
  readonly globals: object;
}

/** Dawn rounds the times of kernels to 0.1 ms, to hide them from pages; here nothing is to be hidden. */
const roundedTimes = 'timestamp_quantization';
/**
 * With Vulkan's extension SwiftShader zeroes the memory of a workgroup by an instruction per word: kernels that have some
 * kilobytes take seconds to compile. Without it Dawn writes a loop.
 */
const zeroedByDriver = 'use_vulkan_zero_initialize_workgroup_memory_extension';

export interface WebGpuOptions {
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

/**
 * Sees to it that `navigator.gpu` exists, which is where gpu.js looks. The function returned takes
 * back what was put there.
 */
export async function provideWebGpu({
  allowSoftware,
  packageName = webGpuPackage,
}: WebGpuOptions): Promise<() => void> {
  if (typeof navigator !== 'undefined' && navigator.gpu) return () => {};
  const { create, globals } = await loadPackage(packageName);
  Object.assign(globalThis, globals);
  // Node 20 has no navigator; later ones have one without `gpu`.
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
  // WebGPU's own errors are no `Error`.
  if (typeof error === 'object' && error !== null && 'message' in error && error.message) {
    return String(error.message);
  }
  // Dawn aborts with errors that have no message.
  return error instanceof Error ? error.message || error.name : String(error);
}
