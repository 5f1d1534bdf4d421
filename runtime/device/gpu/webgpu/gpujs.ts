/**
 * Our whole interface to gpu.js, version 2.24.1 exactly. Its public kernels return a Promise per call and pin their
 * outputs, so we use the built kernel underneath.
 */
import { DeviceError } from '../../../errors/errors.ts';
import { invariant } from '../../../errors/invariant.ts';
import { adapterName, rejectSoftware } from '../core/adapter.ts';
import type { Bindable, Dispatched } from '../core/bind-groups.ts';
import type { BufferHandle } from '../core/buffer-pool.ts';
import type { CommandBatch, Groups } from '../core/command-batch.ts';
import type { KernelText, StoreLayout } from '../core/kernel-text.ts';
import type { BufferLimit } from '../core/limits.ts';
import { messageOf, provideWebGpu } from '../core/node-webgpu.ts';

interface KernelOperands {
  readonly output: Bindable;
  readonly inputs: readonly Bindable[];
  readonly scalars: readonly number[];
}

/** A kernel whose build may be in progress. */
export interface BuildingKernel {
  readonly built: boolean;
  /** Settles when the build has ended; never rejects. */
  readonly ready: Promise<void>;
  /** The error of a failed build. */
  readonly failure: Error | null;
}

export interface CompiledKernel extends BuildingKernel {
  /** Adds one run to a batch; the kernel must be built. */
  encode(batch: CommandBatch, operands: KernelOperands): void;
  destroy(): void;
}

interface WebGpuKernel {
  readonly built: boolean;
  outputBuffer: (GPUBuffer & { _refs: number }) | { size: number; _refs: number } | null;
  readonly computePipeline: GPUComputePipeline;
  readonly bindGroupLayout: GPUBindGroupLayout;
  /** The byte offsets of the uniforms. */
  readonly paramsLayout: {
    readonly arrayArgs: readonly { readonly dimsOffset: number }[];
    readonly scalarArgs: readonly { readonly offset: number; readonly type: string }[];
    readonly byteLength: number;
  };
  readonly output: readonly number[];
  assembleWGSL(): string;
  build(...args: unknown[]): Promise<void>;
  _computeDispatch(threads: readonly number[]): {
    readonly groups: readonly number[];
    readonly dispatchWidth: number;
  };
  destroy(): void;
}

interface WebGpuContext {
  readonly adapter: GPUAdapter;
  readonly device: GPUDevice;
  readonly isLost: boolean;
}

interface GpuJs {
  readonly GPU: new (settings: {
    mode: 'webgpu';
  }) => {
    createKernel(source: string, settings: object): { readonly kernel: WebGpuKernel };
    destroy(): Promise<void>;
  };
  readonly WebGPUKernel: new (...args: never[]) => WebGpuKernel;
  readonly WebGPUContext: { acquire(): Promise<WebGpuContext>; destroy(): Promise<void> };
  readonly WebGPUBufferResult: new (settings: object) => object;
}

/** WebGPU's usage flags by value, because its globals don't exist everywhere. */
const usage = { copySource: 4, copyTarget: 8, storage: 128 } as const;

/** gpu.js counts the users of a buffer and destroys it at 0; ours belong to the pool. */
const neverDestroyed = 1 << 29;

interface OpenOptions {
  readonly allowSoftware: boolean;
}

/** gpu.js with a WebGPU device. One per process, because gpu.js shares its device. */
export class GpuJsBackend {
  readonly adapter: string;
  readonly device: GPUDevice;
  readonly #gpujs: GpuJs;
  readonly #gpu: InstanceType<GpuJs['GPU']>;
  readonly #context: WebGpuContext;
  readonly #rollBack: () => void;

  private constructor(gpujs: GpuJs, context: WebGpuContext, rollBack: () => void) {
    this.#gpujs = gpujs;
    this.#context = context;
    this.#rollBack = rollBack;
    // Not 'gpu' or 'async', which silently fall back to other backends.
    this.#gpu = new gpujs.GPU({ mode: 'webgpu' });
    this.adapter = adapterName(context.adapter.info);
    this.device = context.device;
  }

  static async open({ allowSoftware }: OpenOptions): Promise<GpuJsBackend> {
    const rollBack = await provideWebGpu({ allowSoftware });
    try {
      const adapter = await navigator.gpu.requestAdapter();
      if (!adapter) throw noAdapter();
      rejectSoftware(adapter.info, allowSoftware);
      const loaded = (await import('gpu.js')) as unknown as { default?: GpuJs } & GpuJs;
      const gpujs = loaded.default ?? loaded;
      askForMore(adapter);
      const context = await handingOver(adapter, () => gpujs.WebGPUContext.acquire());
      return new GpuJsBackend(gpujs, context, rollBack);
    } catch (error) {
      rollBack();
      throw error;
    }
  }

  get lost(): boolean {
    return this.#context.isLost;
  }

  /** The threads of the smallest subgroup; undefined if the adapter has no subgroups. */
  get smallestSubgroup(): number | undefined {
    return this.#context.adapter.info.subgroupMinSize;
  }

  /** The bytes of the largest buffer that a kernel can bind. */
  get bufferLimit(): BufferLimit {
    const { maxBufferSize, maxStorageBufferBindingSize } = this.device.limits;
    return maxBufferSize < maxStorageBufferBindingSize
      ? { maxBufferBytes: maxBufferSize, limitedBy: "the adapter's maxBufferSize" }
      : {
          maxBufferBytes: maxStorageBufferBindingSize,
          limitedBy: "the adapter's maxStorageBufferBindingSize",
        };
  }

  createBuffer(bytes: number): BufferHandle {
    // WebGPU always returns a buffer, and reports later if it has no memory.
    this.device.pushErrorScope('validation');
    this.device.pushErrorScope('out-of-memory');
    let allocated: GPUBuffer | undefined;
    let checked: Promise<GPUError | null>;
    try {
      allocated = this.device.createBuffer({
        size: bytes,
        usage: usage.storage | usage.copySource | usage.copyTarget,
      });
    } finally {
      // A lost device reports no errors.
      const none = () => null;
      const outOfMemory = this.device.popErrorScope().catch(none);
      const invalid = this.device.popErrorScope().catch(none);
      checked = outOfMemory.then(async (error) => error ?? (await invalid));
    }
    const buffer = allocated;
    return { buffer, checked };
  }

  /** Translates immediately (throws if gpu.js can't) and starts the build. */
  compile(text: KernelText): CompiledKernel {
    const { kernel } = this.#gpu.createKernel(text.source, {
      output: [text.threads],
      precision: 'single',
      pipeline: true,
      immutable: false,
      // By default it silently ends every loop without a literal bound after 1000 iterations.
      loopMaxIterations: 1 << 24,
      tactic: 'precision',
    });
    invariant(
      kernel instanceof this.#gpujs.WebGPUKernel,
      `gpu.js made a ${kernel.constructor.name} instead of a WebGPU kernel`,
    );
    const assemble = kernel.assembleWGSL.bind(kernel);
    kernel.assembleWGSL = () => rewriteStores(assemble(), text);
    return new GpuJsKernel(kernel, text, this.#context, this.#sample(text));
  }

  /** Returns arguments of the right types: gpu.js infers types from a first call. */
  #sample({ arrays, scalars }: KernelText): unknown[] {
    const buffer = { _refs: neverDestroyed };
    const settings = { buffer, output: [1], componentCount: 1, context: null, kernel: null };
    const argument = new this.#gpujs.WebGPUBufferResult(settings);
    return [...Array(arrays).fill(argument), ...Array(scalars).fill(0)];
  }

  async destroy(): Promise<void> {
    await this.#gpu.destroy();
    await this.#gpujs.WebGPUContext.destroy();
    this.#rollBack();
  }
}

/** Limits that our kernels need and gpu.js doesn't request. */
const raisedLimits = ['maxStorageBuffersPerShaderStage'] as const;
const usedFeatures: readonly GPUFeatureName[] = ['timestamp-query', 'subgroups'];

/**
 * Makes the adapter create devices with the adapter's limits and features in addition to those that gpu.js requests.
 */
function askForMore(adapter: GPUAdapter): void {
  const request = adapter.requestDevice.bind(adapter);
  const limits = Object.fromEntries(raisedLimits.map((name) => [name, adapter.limits[name]]));
  const features = usedFeatures.filter((name) => adapter.features.has(name));
  const value = (descriptor: GPUDeviceDescriptor = {}) =>
    request({
      ...descriptor,
      requiredLimits: { ...descriptor.requiredLimits, ...limits },
      requiredFeatures: [...(descriptor.requiredFeatures ?? []), ...features],
    });
  Object.defineProperty(adapter, 'requestDevice', { value, configurable: true });
}

/** Makes every adapter request during `body` return this adapter. */
async function handingOver<T>(adapter: GPUAdapter, body: () => Promise<T>): Promise<T> {
  const { gpu } = navigator;
  const value = async () => adapter;
  Object.defineProperty(gpu, 'requestAdapter', { value, configurable: true });
  try {
    return await body();
  } finally {
    Reflect.deleteProperty(gpu, 'requestAdapter');
  }
}

/** A built kernel and the word offsets of its uniforms. */
interface KernelLayout {
  readonly kernel: Dispatched;
  readonly groups: Groups;
  /** The number of threads per row of workgroups. */
  readonly width: number;
  readonly arrays: readonly number[];
  readonly numbers: readonly { readonly word: number; readonly integer: boolean }[];
}

/** gpu.js submits every run separately, so only its translation and pipeline are used. */
function dispatchedOf(built: WebGpuKernel): KernelLayout {
  const { arrayArgs, scalarArgs, byteLength } = built.paramsLayout;
  const { groups, dispatchWidth } = built._computeDispatch([built.output[0]!, 1, 1]);
  return {
    kernel: {
      pipeline: built.computePipeline,
      layout: built.bindGroupLayout,
      uniformBytes: byteLength,
      hasDynamicOffset: false,
    },
    groups: [groups[0]!, groups[1]!, 1],
    width: dispatchWidth,
    arrays: arrayArgs.map(({ dimsOffset }) => dimsOffset / 4),
    numbers: scalarArgs.map(({ offset, type }) => ({
      word: offset / 4,
      integer: type === 'Integer',
    })),
  };
}

class GpuJsKernel implements CompiledKernel {
  readonly ready: Promise<void>;
  failure: Error | null = null;
  readonly #kernel: WebGpuKernel;
  readonly #context: WebGpuContext;
  readonly #threads: number;
  /** Read from the kernel when it is first encoded; it doesn't change after the build. */
  #dispatched: KernelLayout | null = null;

  constructor(
    kernel: WebGpuKernel,
    text: KernelText,
    context: WebGpuContext,
    sample: readonly unknown[],
  ) {
    this.#kernel = kernel;
    this.#context = context;
    this.#threads = text.threads;
    // A build creates an output buffer unless one exists; every run has its own.
    kernel.outputBuffer = { size: text.threads * 4, _refs: neverDestroyed };
    this.ready = kernel.build(...sample).then(
      () => {
        kernel.outputBuffer = null;
      },
      (error: unknown) => {
        this.failure = error instanceof Error ? error : new Error(messageOf(error));
      },
    );
  }

  get built(): boolean {
    return this.#kernel.built;
  }

  encode(batch: CommandBatch, { output, inputs, scalars }: KernelOperands): void {
    if (this.#context.isLost) throw new Error('the WebGPU device was lost');
    this.#dispatched ??= dispatchedOf(this.#kernel);
    const { kernel, groups, width, arrays, numbers } = this.#dispatched;
    const at = batch.nextUniforms(kernel);
    const { u32, f32, i32 } = batch;
    u32[at] = this.#threads;
    u32[at + 1] = 1;
    u32[at + 2] = 1;
    u32[at + 3] = width;
    arrays.forEach((word, i) => {
      const elements = inputs[i]!.bytes / 4;
      u32[at + word] = elements;
      u32[at + word + 1] = 1;
      u32[at + word + 2] = 1;
      u32[at + word + 3] = elements;
    });
    numbers.forEach(({ word, integer }, i) => {
      (integer ? i32 : f32)[at + word] = scalars[i]!;
    });
    batch.dispatch(batch.bind(kernel, [...inputs, output]), groups);
  }

  destroy(): void {
    this.#kernel.destroy();
  }
}

/**
 * Rewrites the WGSL in two exact places: gpu.js can only store at the thread's own index and can't read its
 * output, but writes to views and in-place writes need both.
 */
function rewriteStores(wgsl: string, { layout, storeOffset, aliases }: KernelText): string {
  let text = wgsl;
  const index = layout === null ? 'data_index' : 'storeIndex(data_index)';
  const offset = storeOffset === null ? '' : ` + i32(params.user_${storeOffset})`;
  text = replaceAll(text, 'result[data_index]', `result[u32(${index}${offset})]`);
  if (layout !== null) {
    const fn = `fn storeIndex(i : i32) -> i32 {\n${storeCode(layout)}\nreturn index;\n}\n`;
    text = replaceAll(text, '@compute', `${fn}@compute`);
  }
  for (const alias of aliases) text = replaceAll(text, `return user_a${alias}[`, 'return result[');
  return text;
}

/** Returns WGSL that computes `index` from `i : i32`, with integer division. */
function storeCode({ loops, base }: StoreLayout): string {
  const lines = ['var rest = i;', `var index = ${base};`];
  for (const { size, stride } of loops.toReversed()) {
    lines.push(`index += (rest % ${size}) * (${stride});`, `rest = rest / ${size};`);
  }
  return lines.join('\n');
}

function replaceAll(text: string, part: string, by: string): string {
  invariant(text.includes(part), `gpu.js made WGSL without '${part}'`);
  return text.replaceAll(part, by);
}

function noAdapter(): DeviceError {
  return new DeviceError({
    what: 'gpu: no adapter found',
    given: 'requestAdapter() returned null',
    expected: 'a GPU whose driver speaks Vulkan, Metal or Direct3D 12',
    remedy: 'install the driver (on Linux also libvulkan1), or stay on the CPU device',
  });
}
