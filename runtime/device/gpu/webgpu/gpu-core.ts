import { type KernelTiming, spans } from '../../../profiler/spans.ts';
import type { Operand } from '../../device.ts';
import { BufferPool, bufferAt, type PoolBuffer } from '../core/buffer-pool.ts';
import { CommandBatch, type CommandCounts } from '../core/command-batch.ts';
import type {
  DeviceCore,
  HostRun,
  KernelStats,
  Place,
  StageRun,
  WordPlace,
  WordSpan,
} from '../core/device-core.ts';
import type { Words } from '../core/element-storage.ts';
import {
  buildError,
  closedError,
  lostError,
  runError,
  tooLargeForGpuJs,
} from '../core/gpu-errors.ts';
import { IssueQueue } from '../core/issue-queue.ts';
import { KernelCache } from '../core/kernel-cache.ts';
import type { KernelText } from '../core/kernel-text.ts';
import { gpuJsLimit, maxElements } from '../core/limits.ts';
import { failureOf, noteSources } from '../core/missing-memory.ts';
import { messageOf } from '../core/node-webgpu.ts';
import { SubmitReports } from '../core/submit-reports.ts';
import { WgslKernel } from '../wgsl/wgsl-kernel.ts';
import type { WgslText } from '../wgsl/wgsl-text.ts';
import { GpuTransfers } from './gpu-transfers.ts';
import type { BuildingKernel, CompiledKernel, GpuJsBackend } from './gpujs.ts';

const wordBytes = 4;

/** One run of one kernel. */
export interface KernelRun {
  readonly op: string;
  readonly kernel: BuildingKernel;
  readonly reads: readonly PoolBuffer[];
  readonly writes: readonly PoolBuffer[];
  /** The written buffers whose old contents are replaced entirely. */
  readonly replaced: readonly PoolBuffer[];
  /** Adds the run to a batch; the kernel must be built. */
  encode(batch: CommandBatch): void;
}

/** Buffers, kernels and the single queue for all work. */
export class GpuCore implements DeviceCore {
  readonly name = 'gpu';
  readonly pool: BufferPool;
  readonly kernels: KernelCache<KernelText, CompiledKernel>;
  /** Kernels in our own WGSL. */
  readonly wgslKernels: KernelCache<WgslText, WgslKernel>;
  /** The maximum number of storage buffers per kernel. */
  readonly mostBuffers: number;
  /** The number of adjacent threads guaranteed to be in one subgroup, a power of 2; 1 if kernels use no subgroups. */
  readonly lanes: number;
  /** Bound where a kernel requires a buffer: for empty tensors, and inputs read through the output. */
  readonly nothing: PoolBuffer;
  readonly #backend: GpuJsBackend;
  readonly #queue = new IssueQueue();
  /** Whether the GPU can measure kernels. */
  readonly #hasClock: boolean;
  readonly #batch: CommandBatch;
  /** Set once any kernel has failed; until then reused buffers need no cleaning. */
  #anyFailure = false;
  readonly #reports = new SubmitReports();
  readonly #transfers: GpuTransfers;
  #closed = false;
  /** The number of compiled kernels whose threads write elements of one word. */
  #atomicKernels = 0;
  #repeatedLaunches = 0;
  #lost: GPUDeviceLostInfo | null = null;
  readonly lost: Promise<string>;

  /** `isGpuJsAlone` limits tensors to what gpu.js kernels can index. `lanes`: see `lanesOf`. */
  constructor(
    backend: GpuJsBackend,
    kernelCapacity: number,
    { isGpuJsAlone = false, lanes = 1 } = {},
  ) {
    this.lanes = lanes;
    this.#backend = backend;
    this.#hasClock = backend.device.features.has('timestamp-query');
    const { bufferLimit } = backend;
    const ofGpuJs = gpuJsLimit(wordBytes);
    const limit =
      isGpuJsAlone && ofGpuJs.maxBufferBytes < bufferLimit.maxBufferBytes ? ofGpuJs : bufferLimit;
    this.#batch = new CommandBatch(backend.device, (cause) => {
      this.#reports.note(messageOf(cause));
    });
    const { minStorageBufferOffsetAlignment } = backend.device.limits;
    this.pool = new BufferPool(this.name, {
      ...limit,
      ...(!isGpuJsAlone && { partAlignment: minStorageBufferOffsetAlignment }),
      createBuffer: (bytes) => backend.createBuffer(bytes),
      destroyBuffer: ({ buffer }) =>
        this.#queue.issueNow(() => {
          // A submit that uses a destroyed buffer is rejected entirely.
          this.#batch.flush();
          buffer.destroy();
        }),
      noteMissing: () => {
        this.#anyFailure = true;
      },
      reuseBuffer: (buffer) => this.#forgetFailure(buffer),
    });
    this.kernels = new KernelCache(
      kernelCapacity,
      (text) => backend.compile(text),
      // A kernel destroyed during its build would be revived.
      (kernel) =>
        this.#queue.issue({ waitsFor: () => unbuilt(kernel), run: () => kernel.destroy() }),
    );
    this.wgslKernels = new KernelCache(
      kernelCapacity,
      (text) => {
        if (text.isAtomic) this.#atomicKernels++;
        return new WgslKernel(backend.device, text);
      },
      // WebGPU frees a pipeline when nothing refers to it.
      () => {},
    );
    this.mostBuffers = backend.device.limits.maxStorageBuffersPerShaderStage;
    this.nothing = bufferAt(backend.createBuffer(64), 0, 64);
    backend.device.onuncapturederror = ({ error }) => {
      this.#reports.note(error.message);
    };
    this.lost = new Promise((resolve) => {
      void backend.device.lost?.then((info) => {
        this.#lost = info;
        if (!this.#closed) resolve(info.message);
      });
    });
    this.#transfers = new GpuTransfers({
      name: this.name,
      backend,
      queue: this.#queue,
      batch: this.#batch,
      reports: this.#reports,
      encode: (buffers, encode) => this.#encode(buffers, encode),
      fail: (buffer, failure) => this.#fail(buffer, failure),
      lost: () => this.#lost,
    });
  }

  get commandCounts(): CommandCounts {
    return this.#batch.counts;
  }

  get kernelStats(): KernelStats {
    const { kernels, wgslKernels } = this;
    return {
      compiled: kernels.compiled + wgslKernels.compiled,
      wgsl: wgslKernels.compiled,
      atomic: this.#atomicKernels,
      repeated: this.#repeatedLaunches,
      cached: kernels.size + wgslKernels.size,
    };
  }

  /** Counts a launch at the same locations as the previous one. */
  noteRepeated(): void {
    this.#repeatedLaunches++;
  }

  get isLost(): boolean {
    return this.#lost !== null;
  }

  place({ holder, offset }: Operand, op: string): Place {
    if (this.#closed) throw closedError(op);
    if (this.#lost) throw lostError(op, this.#lost);
    if (!holder || holder.ptr === 0) return { buffer: this.nothing, offset: 0 };
    return { buffer: this.pool.at(holder.ptr), offset };
  }

  withScratch(bytes: readonly number[], body: (buffers: readonly PoolBuffer[]) => void): void {
    this.pool.withScratch(bytes, body);
  }

  startBuild(op: string, key: string, text: KernelText): void {
    this.#compile(op, key, text);
  }

  runStage({ op, key, text, target, inputs, scalars }: StageRun): void {
    for (const { bytes } of [...inputs, target.buffer]) {
      if (bytes > maxElements * wordBytes) throw tooLargeForGpuJs(op, bytes);
    }
    const kernel = this.#compile(op, key, text);
    const { buffer } = target;
    const bound = inputs.map((input) => (input === buffer ? this.nothing : input));
    const writes = [buffer];
    this.launch({
      op,
      kernel,
      reads: inputs,
      writes,
      replaced: text.threads * wordBytes === buffer.used ? writes : [],
      encode: (batch) => kernel.encode(batch, { output: buffer, inputs: bound, scalars }),
    });
  }

  #compile(op: string, key: string, text: KernelText): CompiledKernel {
    try {
      return this.kernels.get(key, text);
    } catch (cause) {
      throw buildError(op, cause);
    }
  }

  /** Returns a kernel in our own WGSL, starting its build. */
  wgslKernel(text: WgslText): WgslKernel {
    return this.wgslKernels.get(text.code, text);
  }

  launch(run: KernelRun): void {
    const { kernel } = run;
    // The run may come after the recording has ended.
    const timing = this.#hasClock ? (spans.sink?.timed(run.op, this.name) ?? null) : null;
    if (!this.#queue.busy && kernel.built) this.#runTimed(run, timing);
    else
      this.#queue.issue({
        waitsFor: () => unbuilt(kernel),
        run: () => this.#runTimed(run, timing),
      });
  }

  #runTimed(run: KernelRun, timing: KernelTiming | null): void {
    this.#batch.timing = timing;
    this.#run(run);
    // By now it was dispatched, or never will be.
    if (this.#batch.timing) this.#batch.timing.end(null);
    this.#batch.timing = null;
  }

  #run(run: KernelRun): void {
    const { op, kernel, reads, writes } = run;
    const spoiled = this.#anyFailure ? firstFailure(reads, writes) : null;
    const failure = kernel.failure ? buildError(op, kernel.failure) : spoiled;
    if (failure) {
      // WebGPU also reports a failed build; one report is enough.
      if (kernel.failure) this.#reports.forget();
      for (const output of writes) this.#fail(output, failure);
      return;
    }
    try {
      if (areConfirmed(reads) && areConfirmed(writes)) run.encode(this.#batch);
      else this.#encode([...reads, ...writes], () => run.encode(this.#batch));
      noteSources(reads, writes, run.replaced);
      for (const output of run.replaced) output.failure = null;
    } catch (cause) {
      for (const output of writes) this.#fail(output, runError(op, cause));
    }
  }

  /**
   * WebGPU drops a submit entirely if one of its buffers is invalid. Work on a buffer that is not yet confirmed (a
   * new one, in the same task) gets a separate submit, so that no other result is lost with it.
   */
  #encode(buffers: readonly PoolBuffer[], encode: () => void): void {
    const unconfirmed = buffers.filter((buffer) => buffer.unconfirmed);
    if (unconfirmed.length === 0) {
      encode();
      return;
    }
    const { device } = this.#backend;
    this.#batch.flush();
    device.pushErrorScope('validation');
    try {
      encode();
      this.#batch.flush();
    } finally {
      this.#reports.await(device.popErrorScope(), unconfirmed);
    }
  }

  #fail(buffer: PoolBuffer, failure: Error): void {
    this.#anyFailure = true;
    buffer.failure = failure;
  }

  #forgetFailure(buffer: PoolBuffer): void {
    // Waiting work of its previous owner may still fail, or read a buffer that fails.
    if (!this.#anyFailure && buffer.sources.length === 0 && !this.#queue.busy) return;
    this.#queue.issueNow(() => {
      buffer.failure = null;
      buffer.sources = [];
    });
  }

  computeOnHost(run: HostRun): void {
    this.#transfers.computeOnHost(run);
  }

  copy(from: WordSpan, to: WordPlace): void {
    this.#transfers.copy(from, to);
  }

  write(data: Words, to: WordPlace, kept: boolean): void {
    this.#transfers.write(data, to, kept);
  }

  read(from: WordSpan, op: string): Promise<Words> {
    return this.#transfers.read(from, op);
  }

  async synchronize(): Promise<void> {
    await this.#queue.idle();
    this.#batch.flush();
    await this.#backend.device.queue.onSubmittedWorkDone();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#queue.idle();
    // Pending reads must complete; destroying the device would abort them.
    await this.#transfers.settled();
    this.#transfers.destroy();
    this.kernels.clear();
    this.wgslKernels.clear();
    this.pool.trim();
    this.#batch.flush();
    this.nothing.buffer.destroy();
    this.#batch.destroy();
    await this.#backend.destroy();
  }
}

function unbuilt(kernel: BuildingKernel): Promise<void> | null {
  return kernel.built || kernel.failure ? null : kernel.ready;
}

function firstFailure(reads: readonly PoolBuffer[], writes: readonly PoolBuffer[]): Error | null {
  for (const input of reads) {
    const failure = failureOf(input);
    if (failure) return failure;
  }
  for (const { missing } of writes) if (missing) return missing;
  return null;
}

function areConfirmed(buffers: readonly PoolBuffer[]): boolean {
  for (const { unconfirmed } of buffers) if (unconfirmed) return false;
  return true;
}
