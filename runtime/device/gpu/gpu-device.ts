import { DeviceError } from '../../errors/errors.ts';
import { E } from '../../ops/expr/expr.ts';
import { type DType, newTypedArray, type TypedArray } from '../../spec/dtype.ts';
import { sizeOf } from '../../spec/shape.ts';
import type { Device, Launch, Operand } from '../device.ts';
import type { Attrs, KernelOp } from '../kernel-op.ts';
import { contiguousMeta, formatSpec, isContiguousMeta, type TensorMeta } from '../tensor-meta.ts';
import { transferLaunch } from '../transfer/transfer-launch.ts';
import { attrsOfKernel, hasGpuJsKernel, planFor } from './codegen/gpujs-plan.ts';
import { isHostKernel, isRandomKernel } from './codegen/kernels.ts';
import { pointwisePlan } from './codegen/pointwise.ts';
import type { BufferPool, CheckedHandle } from './core/buffer-pool.ts';
import type { CommandCounts } from './core/command-batch.ts';
import type { DeviceCore, KernelStats, Place } from './core/device-core.ts';
import { type ElementStorage, spanOf, typedStorage, wordsOf } from './core/element-storage.ts';
import { fitsGpuJs } from './core/limits.ts';
import { asFloats, FloatOperands } from './float-operands.ts';
import { HostOp } from './host-op.ts';
import { type MissingKernelPolicy, MissingKernels } from './missing-kernels.ts';
import { type Prepared, PreparedKernel } from './prepared-kernel.ts';
import { randomNumbers } from './random.ts';

/** The number of distinct layouts cached per op. */
const preparedPerOp = 256;

/** Kernels and facts that depend only on an op. */
interface OpKernels<H extends CheckedHandle> {
  /** Attributes that are part of the kernels; others are arguments. Null for all. */
  readonly attrs: readonly string[] | null;
  readonly byLayout: Map<string, Prepared<H>>;
}

/** The compute API: WebGPU, or WebGL2 if that is missing. */
export type GpuApi = 'webgpu' | 'webgl2';

/** Kernels that a device prefers to those of gpu.js. */
export interface OwnKernels<H extends CheckedHandle> {
  /** The maximum number of result columns of tiled attention. */
  readonly mostTileColumns: number;
  has(
    op: KernelOp,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
  ): boolean;
  /** Returns null if there is no such kernel. */
  prepare(
    op: KernelOp,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
  ): Prepared<H> | null;
  /** Returns a kernel that copies elements from one layout to another. */
  copy(from: TensorMeta, to: TensorMeta): Prepared<H>;
}

interface GpuDeviceOptions<H extends CheckedHandle> {
  readonly api: GpuApi;
  /** The adapter's own name: `google/swiftshader/…`. */
  readonly adapter: string;
  readonly missingKernels: MissingKernelPolicy;
  readonly storage: ElementStorage;
  /** The number of adjacent threads that kernels may assume to be in one subgroup; 1 without subgroups. */
  readonly lanes: number;
  /** Null for gpu.js kernels only. */
  readonly ownKernels: OwnKernels<H> | null;
}

/** Tensors in WebGPU buffers or WebGL2 textures. */
export class GpuDevice<H extends CheckedHandle = CheckedHandle> implements Device {
  readonly name = 'gpu';
  readonly kind = 'gpu';
  readonly sumsInBlocks = false;
  readonly typedElements: boolean;
  readonly overwritesOperands = false;
  readonly fusesPointwise: boolean;
  readonly mostFusedBuffers: number;
  readonly mostTileColumns: number;
  readonly innerBytes = 0;
  /** The number of adjacent threads that kernels may assume to be in one subgroup; 1 if they use no subgroups. */
  readonly lanes: number;
  readonly api: GpuApi;
  /** The adapter's own name: `google/swiftshader/…`. */
  readonly adapter: string;
  readonly #core: DeviceCore<H>;
  readonly #kernels = new WeakMap<KernelOp, OpKernels<H>>();
  readonly #copyKernels = new Map<string, Prepared<H>>();
  readonly #missing: MissingKernels;
  readonly #ours: OwnKernels<H> | null;
  readonly #storage: ElementStorage;

  constructor(core: DeviceCore<H>, options: GpuDeviceOptions<H>) {
    this.api = options.api;
    this.adapter = options.adapter;
    this.lanes = options.lanes;
    this.#core = core;
    this.#missing = new MissingKernels(options.missingKernels);
    this.#ours = options.ownKernels;
    this.#storage = options.storage;
    this.typedElements = options.storage === typedStorage;
    this.fusesPointwise = options.ownKernels !== null;
    this.mostFusedBuffers = this.#core.mostBuffers;
    this.mostTileColumns = options.ownKernels?.mostTileColumns ?? 0;
  }

  /** The number of launches per op that the CPU computed because the GPU has no kernel. */
  get computedOnCpu(): ReadonlyMap<string, number> {
    return this.#missing.launches;
  }

  /** Whether the device is lost for good; `init('gpu')` opens another one. */
  get isLost(): boolean {
    return this.#core.isLost;
  }

  get lost(): Promise<string> {
    return this.#core.lost;
  }

  get allocator(): BufferPool<H> {
    return this.#core.pool;
  }

  /** Counts of kernels compiled so far, including our own WGSL kernels, and of cached ones. */
  get kernelStats(): KernelStats {
    return this.#core.kernelStats;
  }

  /** The number of commands sent to the GPU so far. */
  get commandCounts(): CommandCounts {
    return this.#core.commandCounts;
  }

  elementBytes(dtype: DType): number {
    return this.#storage.bytesOf(dtype);
  }

  prepare(
    op: KernelOp,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
  ): Launch {
    const { kernel } = op;
    if (kernel.kind === 'named' && isRandomKernel(kernel.name)) {
      const isOurs = this.#ours?.has(op, inputs, outputs, attrs);
      if (!isOurs) return this.#random(op.name, kernel.name, outputs[0]!, attrs);
    }
    if (kernel.kind === 'named' && kernel.name === 'literal') {
      return this.#literal(outputs[0]!, attrs);
    }
    if (kernel.kind === 'transfer') return transferLaunch(inputs[0]!, outputs[0]!);
    if (kernel.kind === 'onCpu') return this.#hostOp(kernel.op, inputs, outputs).bind(attrs);
    if (!this.#hasKernel(op, inputs, outputs, attrs)) {
      const launch = this.#hostOp(op, inputs, outputs).bind(attrs);
      return this.#missing.counted(op, inputs, launch);
    }
    return this.#prepared(op, inputs, outputs, attrs).bind(attrs);
  }

  /**
   * Returns the bytes that a launch allocates besides its outputs and frees before it returns, for planners. An output
   * that overlaps an operand, unless elementwise, needs its own size again.
   */
  scratchBytes(
    op: KernelOp,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
  ): number {
    const { kernel } = op;
    if (kernel.kind === 'transfer') return 0;
    if (kernel.kind === 'named' && isHostKernel(kernel.name)) return 0;
    if (kernel.kind === 'onCpu') return this.#hostOp(kernel.op, inputs, outputs).scratchBytes();
    if (!this.#hasKernel(op, inputs, outputs, attrs)) {
      return this.#hostOp(op, inputs, outputs).scratchBytes();
    }
    return this.#prepared(op, inputs, outputs, attrs).scratchBytes;
  }

  /** Whether the GPU has a kernel; otherwise the CPU computes the op. */
  #hasKernel(
    op: KernelOp,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
  ): boolean {
    if (this.#ours?.has(op, inputs, outputs, attrs)) return true;
    const operands = [...inputs, ...outputs];
    if (!hasGpuJsKernel(op) || !operands.every(fitsGpuJs)) return false;
    // gpu.js kernels only accept float32 operands, unlike our own kernels; user kernels get copies.
    const areFloats = operands.every(({ dtype }) => dtype === 'float32');
    return !this.#ours || areFloats || op.kernel.kind === 'user';
  }

  #prepared(
    op: KernelOp,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
  ): Prepared<H> {
    const { attrs: names, byLayout } = this.#kernelsOf(op);
    const key = layoutKey(inputs, outputs, attrs, names ?? Object.keys(attrs));
    let prepared = byLayout.get(key);
    if (!prepared) {
      prepared = this.#prepare(op, inputs, outputs, attrs);
      // Not attention: which of its operands share a buffer is known at run time, and planners try more ops than they
      // use.
      if (op.kernel.kind !== 'tiled') prepared.build(op.inPlace, attrs);
      if (byLayout.size >= preparedPerOp) byLayout.clear();
      byLayout.set(key, prepared);
    }
    return prepared;
  }

  #prepare(
    op: KernelOp,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
  ): Prepared<H> {
    const ours = this.#ours?.prepare(op, inputs, outputs, attrs);
    if (ours) return ours;
    const read = this.#ours ? inputs.map(asFloats) : inputs;
    const plan = planFor(op, read, outputs, attrs);
    const kernel = new PreparedKernel(op.name, this.#core, plan, outputs);
    if (read.every((meta, i) => meta === inputs[i])) return kernel;
    const copyKernel = (from: TensorMeta, to: TensorMeta) => this.#copyKernel(from, to);
    return new FloatOperands(op.name, this.#core, kernel, inputs, copyKernel);
  }

  /** gpu.js kernels bind whole buffers, read-only. Operands of ops computed by the CPU are copied. */
  bindsParts(
    op: KernelOp,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
  ): boolean {
    const { kernel } = op;
    if (kernel.kind === 'transfer' || kernel.kind === 'onCpu') return true;
    if (kernel.kind === 'named' && isHostKernel(kernel.name)) return true;
    const isOurs = this.#ours?.has(op, inputs, outputs, attrs) === true;
    return isOurs || !this.#hasKernel(op, inputs, outputs, attrs);
  }

  upload(data: TypedArray, meta: TensorMeta, target: Operand): void {
    if (data.length === 0) return;
    const words = this.#storage.toWords(data, meta.dtype);
    const kept = words.buffer !== data.buffer;
    const place = this.#core.place(target, 'upload');
    const bytes = this.elementBytes(meta.dtype);
    const first = (place.offset * bytes) / 4;
    const end = (place.offset + data.length) * bytes;
    // The last word may contain other elements, unless it ends with the tensor's memory.
    if (Number.isInteger(first) && (end % 4 === 0 || end === target.holder?.bytes)) {
      this.#core.write(words, { buffer: place.buffer, first }, kept);
      return;
    }
    this.#core.withScratch([words.byteLength], ([scratch]) => {
      const source = { buffer: scratch!, offset: 0 };
      this.#core.write(words, { buffer: scratch!, first: 0 }, kept);
      const kernel = this.#copyKernel(contiguousMeta(meta, this), meta);
      kernel.run((slot) => (slot.kind === 'input' ? source : place), {});
    });
  }

  async download(meta: TensorMeta, source: Operand): Promise<TypedArray> {
    const size = sizeOf(meta.shape);
    return size === 0 ? newTypedArray(meta.dtype, 0) : this.#read(meta, source, size);
  }

  downloadSync(meta: TensorMeta, _source: Operand, use = 'dataSync'): TypedArray {
    throw new DeviceError({
      what: `${use}: a GPU can only be read asynchronously`,
      given: `a ${formatSpec(meta)} tensor on ${this.name}`,
      expected: 'a tensor on the CPU device',
      remedy: awaitable[use] ?? `await a copy on the CPU first: (await x.toAsync('cpu')).${use}(…)`,
    });
  }

  /** Resolves when the GPU has finished all previously issued work. */
  synchronize(): Promise<void> {
    return this.#core.synchronize();
  }

  /** Destroys the pool's idle buffers. */
  emptyCache(): void {
    this.#core.pool.trim();
  }

  close(): Promise<void> {
    return this.#core.close();
  }

  #read(meta: TensorMeta, source: Operand, size: number): Promise<TypedArray> {
    const { dtype } = meta;
    const bytes = this.elementBytes(dtype);
    const read = async ({ buffer, offset }: Place<H>) => {
      const span = spanOf(offset, size, bytes);
      const words = await this.#core.read({ buffer, ...span }, 'data');
      return this.#storage.fromWords(words, dtype, size, span.skipped);
    };
    const place = this.#core.place(source, 'data');
    if (isContiguousMeta(meta)) return read(place);
    // Issued in order, and read from scratch memory before its next owner's work runs.
    let result: Promise<TypedArray> | undefined;
    this.#core.withScratch([size * bytes], ([scratch]) => {
      const target = { buffer: scratch!, offset: 0 };
      const kernel = this.#copyKernel(meta, contiguousMeta(meta, this));
      kernel.run((slot) => (slot.kind === 'input' ? place : target), {});
      result = read(target);
    });
    return result!;
  }

  #hostOp(op: KernelOp, inputs: readonly TensorMeta[], outputs: readonly TensorMeta[]): HostOp<H> {
    const copyKernel = (from: TensorMeta, to: TensorMeta) => this.#copyKernel(from, to);
    return new HostOp(op, this.#core, inputs, outputs, this.#storage, copyKernel);
  }

  /** Packs strided elements, or spreads packed ones. */
  #copyKernel(from: TensorMeta, to: TensorMeta): Prepared<H> {
    const key = layoutKey([from], [to], {}, []);
    let kernel = this.#copyKernels.get(key);
    if (!kernel) {
      kernel =
        this.#ours?.copy(from, to) ??
        new PreparedKernel('data', this.#core, pointwisePlan(E.input(0), [from], to, {}), [to]);
      if (this.#copyKernels.size >= preparedPerOp) this.#copyKernels.clear();
      this.#copyKernels.set(key, kernel);
    }
    return kernel;
  }

  #kernelsOf(op: KernelOp): OpKernels<H> {
    let kernels = this.#kernels.get(op);
    if (!kernels) {
      kernels = { attrs: attrsOfKernel(op), byLayout: new Map() };
      this.#kernels.set(op, kernels);
    }
    return kernels;
  }

  #literal(meta: TensorMeta, attrs: Attrs): Launch {
    const values = newTypedArray(meta.dtype, sizeOf(meta.shape));
    values.set(attrs.values as readonly number[]);
    return (_inputs, [target]) => this.upload(values, meta, target!);
  }

  #random(op: string, kernel: 'uniform' | 'normal', meta: TensorMeta, attrs: Attrs): Launch {
    return (_inputs, [target], now = attrs) => {
      const values = randomNumbers(kernel, now, sizeOf(meta.shape));
      if (values.length === 0) return;
      const { buffer, offset } = this.#core.place(target!, op);
      this.#core.write(wordsOf(values), { buffer, first: offset }, true);
    };
  }
}

/** The asynchronous counterpart of each synchronous read. */
const awaitable: Readonly<Record<string, string>> = {
  dataSync: 'await x.data(), or await x.item() for one element',
  // A full graph can't await.
  itemSync: 'await x.item(), in captured code without fullGraph',
  toArraySync: 'await x.toArray()',
  toString: 'await x.toStringAsync()',
  to: "await x.toAsync('cpu'); for gradients that cross devices: await loss.backwardAsync()",
};

function layoutKey(
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
  names: readonly string[],
): string {
  let key = '';
  for (const meta of inputs) key += `${meta.dtype}${meta.shape.join()}|${meta.strides.join()};`;
  key += '>';
  for (const meta of outputs) key += `${meta.dtype}${meta.shape.join()}|${meta.strides.join()};`;
  for (const name of names) key += `${name}=${String(attrs[name])};`;
  return key;
}
