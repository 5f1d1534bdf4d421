import { pool } from './device/cpu/threads/pool.ts';
import { wideVectors } from './device/cpu/wasm/assembler/wide-vectors.ts';
import { deviceNamed, deviceNames } from './device/current.ts';
import type { Device } from './device/device.ts';
import { ArgumentError, DeviceError } from './errors/errors.ts';
import { checkedNumerics, chooseNumerics, kernelsExist, type Numerics } from './numerics/math.ts';
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
  /**
   * Vectors of 256 bits, by an experimental option of V8, for the whole process: products are nearly twice as fast, to
   * the same bits. Node 24 and later, on x64 with AVX2; kernels are compared with and without it first, and
   * DeviceError is thrown where one differs. Chosen before the first op.
   */
  readonly revectorize?: boolean;
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
  revectorize: flag,
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

const here = import.meta.url;

/** Pages have no such option, so that their bundlers see nothing of it. */
async function revectorize(): Promise<void> {
  if (wideVectors.areUsed) return;
  if (kernelsExist()) throw notRevectorized('kernels exist', 'a choice before the first op');
  const file = here.endsWith('.ts') ? './revectorize.ts' : './revectorize.js';
  const url = new URL(file, here).href;
  const module = url.startsWith('file:')
    ? await import(/* @vite-ignore */ /* webpackIgnore: true */ url).catch(() => null)
    : null;
  if (!module) {
    throw notRevectorized('a page, or a bundle', 'the installed package in Node 24 or later');
  }
  (module as { revectorize(): number }).revectorize();
}

function notRevectorized(given: string, expected: string): DeviceError {
  const remedy = 'leave it out: results are the same';
  return new DeviceError({ what: 'init: revectorize is not possible', given, expected, remedy });
}

/** Frees what `init` took, so that the process can end. */
export async function shutdown(name: string): Promise<void> {
  if (name !== 'gpu') return;
  const { destroyGpu } = await import('./device/gpu/init.ts');
  await destroyGpu();
}
