import { pool } from './device/cpu/threads/pool.ts';
import { wideVectors } from './device/cpu/wasm/assembler/wide-vectors.ts';
import { deviceNamed, deviceNames } from './device/current.ts';
import type { Device } from './device/device.ts';
import { ArgumentError, DeviceError } from './errors/errors.ts';
import { chooseNumerics } from './numerics/choose-numerics.ts';
import { kernelsExist, type Numerics } from './numerics/math.ts';
import { expectOptions, type OptionKinds } from './options/expect-options.ts';
import { anyNumber, flag, oneOf, text } from './options/option-kinds.ts';

export interface InitOptions {
  /** The number of CPU threads; defaults to TOSTATIC_THREADS, or one per core up to 8. */
  readonly threads?: number;
  /**
   * `portable` yields the same bits in every engine, without fused multiply-add or `Math` functions. Must be chosen
   * before the first op; defaults to TOSTATIC_NUMERICS in Node, or `default`.
   */
  readonly numerics?: Numerics;
  /**
   * Uses 256-bit vectors for the whole process, through an experimental V8 option: matrix products are nearly twice as
   * fast, with identical bits. Requires Node 24, on x64 with AVX2. Kernels are first compared with and without it;
   * throws DeviceError if any differs. Must be chosen before the first op.
   */
  readonly revectorize?: boolean;
  /** Accepts a GPU emulated on the CPU: slow, for tests. */
  readonly allowSoftware?: boolean;
  /** Handling of ops without a GPU kernel: computed on the CPU with a warning (the default), or rejected. */
  readonly missingKernels?: 'cpu' | 'error';
  /** GPU kernels: `gpu.js` uses only those of gpu.js; `all` (the default with WebGPU) adds those in WGSL. */
  readonly kernels?: 'all' | 'gpu.js';
  /** The GPU API: WebGPU by default, or WebGL2 in pages without a WebGPU adapter. */
  readonly api?: 'webgpu' | 'webgl2';
  /** For `file`, the folder of the file; defaults to the system's folder for temporary files. */
  readonly folder?: string;
}

// Threads and numerics are validated where they are set, because the environment sets them too.
const initKinds: OptionKinds<InitOptions> = {
  threads: anyNumber,
  numerics: text,
  revectorize: flag,
  allowSoftware: flag,
  missingKernels: oneOf('cpu', 'error'),
  kernels: oneOf('all', 'gpu.js'),
  api: oneOf('webgpu', 'webgl2'),
  folder: text,
};

type Loader = (options: InitOptions) => Promise<Device>;

/** Devices loaded on request; `runtime/setup.ts` registers the others. */
const loaders: ReadonlyMap<string, Loader> = new Map<string, Loader>([
  ['gpu', async (options) => (await import('./device/gpu/init.ts')).initGpu(options)],
  ['cpu:1', async () => (await import('./device/cpu/second-cpu.ts')).secondCpu()],
  ['host', async () => (await import('./device/store/host-store.ts')).hostStore()],
  ['file', async ({ folder }) => (await import('./device/store/file-store.ts')).fileStore(folder)],
]);

/**
 * Initializes a device and returns it. `cpu` and `meta` are always ready; `gpu` loads gpu.js and requests an
 * adapter; `cpu:1` is a second CPU device with separate memory statistics; `host` and `file` store saved values
 * for `memory: { offload }`. Throws DeviceError if there is no adapter or numerics differ from those of existing
 * kernels, ArgumentError for a thread count outside 1 to 16.
 */
export async function init(name: string, options: InitOptions = {}): Promise<Device> {
  expectOptions('init', options, initKinds);
  if (options.numerics !== undefined) chooseNumerics(options.numerics, 'init');
  if (options.revectorize) await revectorize();
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

/** Undefined in a bundle of CommonJS. */
const here: string | undefined = import.meta.url;

/** Pages have no such option, so their bundlers must not see it. */
async function revectorize(): Promise<void> {
  if (wideVectors.areUsed) return;
  if (kernelsExist()) throw notRevectorized('kernels exist', 'a choice before the first op');
  const file = here?.endsWith('.ts') ? './revectorize.ts' : './revectorize.js';
  const url = here && new URL(file, here).href;
  const module = url?.startsWith('file:')
    ? await import(/* @vite-ignore */ /* webpackIgnore: true */ url).catch(() => null)
    : null;
  if (!module) throw notRevectorized('a page, or a bundle', 'the installed package in Node 24');
  (module as { revectorize(): number }).revectorize();
}

function notRevectorized(given: string, expected: string): DeviceError {
  const remedy = 'leave it out: results are the same';
  return new DeviceError({ what: 'init: revectorize is not possible', given, expected, remedy });
}

/** Frees the resources of `init`, so that the process can exit. */
export async function shutdown(name: string): Promise<void> {
  if (name !== 'gpu') return;
  const { destroyGpu } = await import('./device/gpu/init.ts');
  await destroyGpu();
}
