import { pool } from './device/cpu/threads/pool.ts';
import { deviceNamed, deviceNames } from './device/current.ts';
import type { Device } from './device/device.ts';
import { ArgumentError } from './errors/errors.ts';
import { checkedNumerics, chooseNumerics, type Numerics } from './numerics/math.ts';
import { expectOptions, type OptionKinds } from './options/expect-options.ts';
import { anyNumber, flag, oneOf, text } from './options/option-kinds.ts';

export interface InitOptions {
  /** How many threads compute on the CPU; by default TOSTATIC_THREADS, or one per core up to 8. */
  readonly threads?: number;
  /**
   * `portable`: the same bits in every engine, with no fused multiply-add and none of `Math`'s functions. Chosen
   * before the first op; by default TOSTATIC_NUMERICS, or `default`.
   */
  readonly numerics?: Numerics;
  /** Takes a GPU that is emulated on the CPU: slow, for tests. */
  readonly allowSoftware?: boolean;
  /** Ops that a GPU has no kernel for: computed by the CPU with a warning (the default), or rejected. */
  readonly missingKernels?: 'cpu' | 'error';
  /** On a GPU: `gpu.js` has the kernels of gpu.js alone; `all` (the default over WebGPU) has those in WGSL besides them. */
  readonly kernels?: 'all' | 'gpu.js';
  /** The API that reaches the GPU: by default WebGPU, or WebGL2 in pages where that has no adapter. */
  readonly api?: 'webgpu' | 'webgl2';
  /** For `file`: where the file is made; by default in the system's folder for temporary files. */
  readonly folder?: string;
}

// Threads and numerics are checked where they are set; the environment sets them, too.
const initKinds: OptionKinds<InitOptions> = {
  threads: anyNumber,
  numerics: text,
  allowSoftware: flag,
  missingKernels: oneOf('cpu', 'error'),
  kernels: oneOf('all', 'gpu.js'),
  api: oneOf('webgpu', 'webgl2'),
  folder: text,
};

type Loader = (options: InitOptions) => Promise<Device>;

/** Devices whose code is loaded when a program asks for them; the others are registered by `runtime/setup.ts`. */
const loaders: ReadonlyMap<string, Loader> = new Map<string, Loader>([
  ['gpu', async (options) => (await import('./device/gpu/init.ts')).initGpu(options)],
  ['cpu:1', async () => (await import('./device/cpu/second-cpu.ts')).secondCpu()],
  ['host', async () => (await import('./device/store/host-store.ts')).hostStore()],
  ['file', async ({ folder }) => (await import('./device/store/file-store.ts')).fileStore(folder)],
]);

/**
 * Makes a device ready and returns it. `cpu` and `meta` always are; `gpu` loads gpu.js and asks for an adapter;
 * `cpu:1` is a second device that the CPU computes, with memory statistics of its own; `host` and `file` keep saved values
 * for `memory: { offload }`. Throws DeviceError when
 * there is no adapter, ArgumentError for a number of threads that isn't 1 to 16,
 * and DeviceError for numerics that differ from those of kernels that exist.
 */
export async function init(name: string, options: InitOptions = {}): Promise<Device> {
  expectOptions('init', options, initKinds);
  if (options.numerics !== undefined) {
    chooseNumerics(checkedNumerics(options.numerics, 'init'));
  }
  if (options.threads !== undefined) {
    pool.threads = options.threads;
    await pool.ready();
  }
  const load = loaders.get(name);
  if (load) return load(options);
  const names = deviceNames();
  if (names.includes(name)) return deviceNamed(name);
  throw new ArgumentError({
    what: 'init: no such device',
    given: `'${name}'`,
    expected: `one of ${[...new Set([...names, ...loaders.keys()])]
      .sort()
      .map((known) => `'${known}'`)
      .join(', ')}`,
    remedy: "use 'cpu', or 'gpu' on a machine that has one",
  });
}

/** Frees what `init` took, so that the process can end. */
export async function shutdown(name: string): Promise<void> {
  if (name !== 'gpu') return;
  const { destroyGpu } = await import('./device/gpu/init.ts');
  await destroyGpu();
}
