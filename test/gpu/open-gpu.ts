import '../../src/1-capture/inspector.ts';
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { currentDevice, setDevice } from '../../runtime/device/current.ts';
import type { Device } from '../../runtime/device/device.ts';
import type { GpuDevice } from '../../runtime/device/gpu/gpu-device.ts';
import { destroyGpu, initGpu } from '../../runtime/device/gpu/init.ts';

const chromiumIcd = '/usr/lib/chromium/vk_swiftshader_icd.json';

/** Tests run on Chromium's software Vulkan where it is installed, else on what the machine has. */
export function useSoftwareAdapter(): void {
  pauseBetweenPolls();
  process.env.TOSTATIC_GPU_SOFTWARE = '1';
  if (existsSync(chromiumIcd)) process.env.VK_ICD_FILENAMES ??= chromiumIcd;
}

const isPausing = Symbol.for('tostatic.pausesBetweenPolls');

/**
 * While a kernel is being built, or a buffer read, Dawn polls in each iteration of the event loop, up to 30,000 times a
 * second. That takes a core from the threads that build, which compute what the tests wait for.
 */
function pauseBetweenPolls(): void {
  const { setImmediate, setTimeout } = globalThis;
  if (isPausing in globalThis) return;
  const isNative = (callback: unknown) => String(callback).endsWith('{ [native code] }');
  const paused = (callback: (...args: unknown[]) => void, ...args: unknown[]) =>
    isNative(callback) ? setTimeout(callback, 1, ...args) : setImmediate(callback, ...args);
  Object.assign(globalThis, {
    [isPausing]: true,
    setImmediate: Object.assign(paused, setImmediate),
  });
}

/** True when the environment says that this machine shall not test the GPU. */
export const skipGpu = process.env.TOSTATIC_SKIP_GPU === '1';

/** The files of this process use one device, one file after the other (`onOneGpu` in `test/projects.ts`). */
const isShared = process.env.TOSTATIC_TESTS_SHARE_GPU === '1';

/** Opens the GPU for a test file. Without an adapter the tests fail: a silent pass would hide it. */
export function gpuForTests(): () => GpuDevice {
  let device: GpuDevice | undefined;
  beforeAll(async () => {
    if (skipGpu) return;
    useSoftwareAdapter();
    device = await initGpu().catch((cause: unknown) => {
      const install = 'apt-get install -y --no-install-recommends chromium libvulkan1';
      throw new Error(`no GPU to test on: ${install}, or set TOSTATIC_SKIP_GPU=1`, { cause });
    });
  });
  if (!isShared) afterAll(destroyGpu);
  return () => device!;
}

/** Returns a function that expects that the CPU has computed no op for the GPU since the test began. */
export function nothingOnCpu(gpu: () => GpuDevice): () => void {
  let before: ReadonlyMap<string, number>;
  beforeEach(() => {
    before = new Map(gpu().computedOnCpu);
  });
  return () => expect(new Map(gpu().computedOnCpu)).toEqual(before);
}

/** Creates tensors on the device until the promise that `body` returns is settled. `deviceGuard` ends at the first `await`. */
export async function onDevice<T>(device: Device | string, body: () => Promise<T>): Promise<T> {
  const outer = currentDevice();
  setDevice(device);
  try {
    return await body();
  } finally {
    setDevice(outer);
  }
}
