/** What is asked of WebGPU itself, counted. */

/** The WebGPU device that everything is computed on. */
export async function webGpuDevice(): Promise<GPUDevice> {
  const loaded = (await import('gpu.js')) as unknown as { default?: GpuJs } & GpuJs;
  return (await (loaded.default ?? loaded).WebGPUContext.acquire()).device;
}

interface GpuJs {
  readonly WebGPUContext: { acquire(): Promise<{ readonly device: GPUDevice }> };
}

/** Counts the calls of a method until `stop`, which tells how many there were. */
export function counted<K extends string>(
  of: { [key in K]: (...args: never[]) => unknown },
  name: K,
): { stop(): number } {
  const original = of[name];
  let calls = 0;
  const counting = (...args: never[]) => {
    calls++;
    return original.apply(of, args);
  };
  Object.defineProperty(of, name, { value: counting, configurable: true, writable: true });
  return {
    stop: () => {
      Reflect.deleteProperty(of, name);
      return calls;
    },
  };
}
