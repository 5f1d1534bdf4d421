import { DeviceError } from '../../../errors/errors.ts';
import { events } from '../../../memory/events.ts';
import { copying, copyingAsync } from '../../../profiler/copying.ts';
import { type KernelTiming, spans } from '../../../profiler/spans.ts';
import type { Operand } from '../../device.ts';
import { BufferPool, type PoolBuffer } from '../core/buffer-pool.ts';
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
import { messageOf } from '../core/node-webgpu.ts';
import { SubmitReports } from '../core/submit-reports.ts';
import { WgslKernel } from '../wgsl/wgsl-kernel.ts';
import type { WgslText } from '../wgsl/wgsl-text.ts';
import type { BuildingKernel, CompiledKernel, GpuJsBackend } from './gpujs.ts';

const wordBytes = 4;

/** By value: WebGPU's global for it does not exist everywhere. */
const mapModeRead = 1;

/** One run of one kernel. */
export interface KernelRun {
  readonly op: string;
  readonly kernel: BuildingKernel;
  readonly reads: readonly PoolBuffer[];
  readonly writes: readonly PoolBuffer[];
  /** Those of the written buffers of whose old contents nothing remains. */
  readonly replaced: readonly PoolBuffer[];
  /** Adds the run to a batch; the kernel is built. */
  encode(batch: CommandBatch): void;
}

/** Buffers, kernels and the one queue that everything passes. */
export class GpuCore implements DeviceCore {
  readonly name = 'gpu';
  readonly pool: BufferPool;
  readonly kernels: KernelCache<KernelText, CompiledKernel>;
  /** Those of our own WGSL. */
  readonly wgslKernels: KernelCache<WgslText, WgslKernel>;
  /** Storage buffers that one kernel may bind. */
  readonly mostBuffers: number;
  /** Bound where a kernel must be given something: empty tensors, inputs read through the output. */
  readonly nothing: PoolBuffer;
  readonly #backend: GpuJsBackend;
  readonly #queue = new IssueQueue();
  /** The GPU can tell what a kernel takes. */
  readonly #hasClock: boolean;
  readonly #batch: CommandBatch;
  /** Set once any kernel failed; until then buffers need no cleaning between lives. */
  #anyFailure = false;
  /** Reads in progress. */
  readonly #reads = new Set<Promise<Words>>();
  readonly #reports = new SubmitReports();
  #closed = false;
  /** Kernels compiled so far whose threads write elements of one word. */
  #atomicKernels = 0;
  #repeatedLaunches = 0;
  #lost: GPUDeviceLostInfo | null = null;

  /** `isGpuJsAlone`: no tensor is larger than what kernels of gpu.js can number. */
  constructor(backend: GpuJsBackend, kernelCapacity: number, isGpuJsAlone = false) {
    this.#backend = backend;
    this.#hasClock = backend.device.features.has('timestamp-query');
    const { bufferLimit } = backend;
    const ofGpuJs = gpuJsLimit(wordBytes);
    const limit =
      isGpuJsAlone && ofGpuJs.maxBufferBytes < bufferLimit.maxBufferBytes ? ofGpuJs : bufferLimit;
    this.#batch = new CommandBatch(backend.device, (cause) => {
      this.#reports.note(messageOf(cause));
    });
    this.pool = new BufferPool(this.name, {
      ...limit,
      createBuffer: (bytes) => backend.createBuffer(bytes),
      destroyBuffer: ({ buffer }) =>
        this.#queue.issueNow(() => {
          // A submit that uses a destroyed buffer is rejected as a whole.
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
      // A kernel destroyed while it is built would come back to life.
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
    this.nothing = {
      ...backend.createBuffer(64),
      ptr: 0,
      bytes: 64,
      failure: null,
      missing: null,
      unconfirmed: false,
    };
    backend.device.onuncapturederror = ({ error }) => {
      this.#reports.note(error.message);
    };
    void backend.device.lost?.then((info) => {
      this.#lost = info;
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

  /** Counts a launch on the places of its last one. */
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
      replaced: text.threads * wordBytes === buffer.bytes ? writes : [],
      encode: (batch) => kernel.encode(batch, { output: buffer.buffer, inputs: bound, scalars }),
    });
  }

  #compile(op: string, key: string, text: KernelText): CompiledKernel {
    try {
      return this.kernels.get(key, text);
    } catch (cause) {
      throw buildError(op, cause);
    }
  }

  /** Gets a kernel of our own WGSL, starting its build. */
  wgslKernel(text: WgslText): WgslKernel {
    return this.wgslKernels.get(text.code, text);
  }

  launch(run: KernelRun): void {
    const { kernel } = run;
    // It may run after the recording.
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
    // It was dispatched, or will never be.
    if (this.#batch.timing) this.#batch.timing.end(null);
    this.#batch.timing = null;
  }

  #run(run: KernelRun): void {
    const { op, kernel, reads, writes } = run;
    const spoiled = this.#anyFailure ? firstFailure(reads, writes) : null;
    const failure = kernel.failure ? buildError(op, kernel.failure) : spoiled;
    if (failure) {
      // WebGPU reports a failed build as well; once is enough.
      if (kernel.failure) this.#reports.forget();
      for (const output of writes) this.#fail(output, failure);
      return;
    }
    try {
      if (areConfirmed(reads) && areConfirmed(writes)) run.encode(this.#batch);
      else this.#encode([...reads, ...writes], () => run.encode(this.#batch));
      for (const output of run.replaced) output.failure = null;
    } catch (cause) {
      for (const output of writes) this.#fail(output, runError(op, cause));
    }
  }

  /**
   * WebGPU drops a submit as a whole when one of its buffers is none. What uses a buffer of which that isn't known
   * yet (a new one, in the same task) has a submit to itself, so no other result is lost with it.
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
    if (!this.#anyFailure) return;
    this.#queue.issueNow(() => {
      buffer.failure = null;
    });
  }

  /**
   * Lets the host compute what the GPU can't: what was issued before is read, what is issued later waits.
   * An error of `compute` spoils what would have been written.
   */
  computeOnHost(run: HostRun): void {
    let ready: Promise<void> | null = null;
    let results: readonly Words[] = [];
    let failure: Error | null = null;
    const compute = async () => {
      try {
        results = run.compute(await this.#readAll(run));
      } catch (cause) {
        failure = cause instanceof Error ? cause : runError(run.op, cause);
      }
    };
    this.#queue.issue({
      waitsFor: () => {
        ready ??= compute();
        return ready;
      },
      run: () => {
        run.writes.forEach((place, i) => {
          if (failure) this.#fail(place.buffer, failure);
          else this.#writeNow(results[i]!, place);
        });
      },
    });
  }

  #readAll({ op, reads }: HostRun): Promise<Words[]> {
    return Promise.all(
      reads.map((span) => {
        const failure = failureOf(span.buffer);
        if (failure) throw failure;
        const bytes = span.count * wordBytes;
        this.#emitCopy(this.name, 'host', bytes);
        const read = () => this.#map(span, op);
        return copyingAsync(this.name, 'host', bytes, read);
      }),
    );
  }

  #writeNow(values: Words, to: WordPlace): void {
    if (values.length === 0) return;
    this.#emitCopy('host', this.name, values.byteLength);
    copying('host', this.name, values.byteLength, () => {
      this.#upload(values, to);
    });
    if (values.byteLength === to.buffer.bytes) to.buffer.failure = null;
  }

  /** The queue writes immediately: what was encoded before must be submitted before. */
  #upload(values: Words, { buffer, first }: WordPlace): void {
    this.#batch.flush();
    this.#backend.device.queue.writeBuffer(buffer.buffer, first * wordBytes, values);
  }

  /** Copies words between two buffers. */
  copy(from: WordSpan, to: WordPlace): void {
    this.#queue.issueNow(() => {
      const failure = failureOf(from.buffer);
      if (failure) {
        this.#fail(to.buffer, failure);
        return;
      }
      if (to.buffer.missing) return;
      const bytes = from.count * wordBytes;
      this.#encode([from.buffer, to.buffer], () => {
        this.#batch.copy(
          from.buffer.buffer,
          from.first * wordBytes,
          to.buffer.buffer,
          to.first * wordBytes,
          bytes,
        );
      });
      if (bytes >= to.buffer.bytes) to.buffer.failure = null;
    });
  }

  write(data: Words, to: WordPlace, kept: boolean): void {
    this.#emitCopy('host', this.name, data.byteLength);
    const write = (values: Words) => {
      this.#upload(values, to);
      if (values.byteLength === to.buffer.bytes) to.buffer.failure = null;
    };
    copying('host', this.name, data.byteLength, () => {
      const values = kept || !this.#queue.busy ? data : data.slice();
      this.#queue.issueNow(() => write(values));
    });
  }

  read(from: WordSpan, op: string): Promise<Words> {
    const bytes = from.count * wordBytes;
    this.#emitCopy(this.name, 'host', bytes);
    const read = () =>
      new Promise<Words>((resolve, reject) => {
        this.#queue.issueNow(() => {
          const failure = failureOf(from.buffer);
          if (failure) reject(failure);
          else this.#map(from, op).then(resolve, reject);
        });
      });
    const reading = copyingAsync(this.name, 'host', bytes, read);
    this.#reads.add(reading);
    const done = () => this.#reads.delete(reading);
    reading.then(done, done);
    return reading;
  }

  async #map({ buffer, first, count }: WordSpan, op: string): Promise<Words> {
    const { device } = this.#backend;
    const bytes = count * wordBytes;
    const staging = this.#backend.createReadBuffer(bytes);
    try {
      // By itself: there may be no memory for the staging buffer.
      this.#batch.flush();
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(buffer.buffer, first * wordBytes, staging, 0, bytes);
      device.queue.submit([encoder.finish()]);
      await staging.mapAsync(mapModeRead);
      await this.#reports.settled();
      this.#reports.expectThere(buffer);
      const values = new Uint32Array(staging.getMappedRange().slice(0));
      staging.unmap();
      this.#reports.tell(op);
      return values;
    } catch (cause) {
      if (this.#lost) throw lostError(op, this.#lost);
      this.#reports.expectThere(buffer);
      this.#reports.tell(op);
      throw cause instanceof DeviceError ? cause : runError(op, cause);
    } finally {
      staging.destroy();
    }
  }

  #emitCopy(from: string, to: string, bytes: number): void {
    events.copy(from, to, bytes);
  }

  async synchronize(): Promise<void> {
    await this.#queue.idle();
    this.#batch.flush();
    await this.#backend.device.queue.onSubmittedWorkDone();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#queue.idle();
    // Reads in progress shall complete; destroying the device would abort them.
    await Promise.allSettled(this.#reads);
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

function failureOf({ missing, failure }: PoolBuffer): Error | null {
  return missing ?? failure;
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
