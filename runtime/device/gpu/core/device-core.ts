import type { Operand } from '../../device.ts';
import type { BufferHandle, BufferPool, CheckedHandle, PoolBuffer } from './buffer-pool.ts';
import type { CommandCounts } from './command-batch.ts';
import type { KernelText } from './kernel-text.ts';

/** An operand's first element. */
export interface Place<H extends CheckedHandle = BufferHandle> {
  readonly buffer: PoolBuffer<H>;
  readonly offset: number;
}

/** A place and how many elements of it are meant. */
export interface Span<H extends CheckedHandle = BufferHandle> extends Place<H> {
  readonly count: number;
}

/** One op whose elements the host computes. */
export interface HostRun<H extends CheckedHandle = BufferHandle> {
  readonly op: string;
  readonly reads: readonly Span<H>[];
  readonly writes: readonly Place<H>[];
  /** From what was read to what is written, in their orders; throws what the op throws. */
  readonly compute: (values: readonly Float32Array[]) => readonly Float32Array<ArrayBuffer>[];
}

/** One run of a kernel of gpu.js. */
export interface StageRun<H extends CheckedHandle = BufferHandle> {
  readonly op: string;
  /** Identifies `text` in a cache. */
  readonly key: string;
  readonly text: KernelText;
  readonly target: Place<H>;
  /** In the order of the text's arrays; those in `text.aliases` are the target's buffer. */
  readonly inputs: readonly PoolBuffer<H>[];
  readonly scalars: readonly number[];
}

export interface KernelStats {
  /** Since the start. */
  readonly compiled: number;
  /** Kernels among those in our own WGSL. */
  readonly wgsl: number;
  /** Kept now. */
  readonly cached: number;
}

/**
 * The services of a browser API (WebGPU, WebGL2) to a device: buffers whose handles are `H`, kernels of gpu.js, and one
 * order in which everything happens.
 */
export interface DeviceCore<H extends CheckedHandle = BufferHandle> {
  readonly pool: BufferPool<H>;
  /** Operands and results that one kernel may have. */
  readonly mostBuffers: number;
  readonly commandCounts: CommandCounts;
  readonly kernelStats: KernelStats;
  /** The driver has taken the device away: nothing can be done with it any more. */
  readonly isLost: boolean;
  /** Throws DeviceError when the device is closed or lost. */
  place(operand: Operand, op: string): Place<H>;
  /** Scratch for what `body` issues; counted like any other memory. */
  withScratch(elements: readonly number[], body: (buffers: readonly PoolBuffer<H>[]) => void): void;
  /** Starts a kernel's build. Throws DeviceError for what gpu.js can't translate. */
  startBuild(op: string, key: string, text: KernelText): void;
  runStage(run: StageRun<H>): void;
  copy(from: Place<H>, to: Place<H>, count: number): void;
  computeOnHost(run: HostRun<H>): void;
  /** `data` must not change afterwards, unless `kept` is false: then it is copied when it must wait. */
  write(data: Float32Array<ArrayBuffer>, to: Place<H>, kept: boolean): void;
  /** Reads `count` elements, after everything issued before. */
  read(from: Place<H>, count: number, op: string): Promise<Float32Array>;
  /** Resolves when the GPU has finished everything issued before. */
  synchronize(): Promise<void>;
  close(): Promise<void>;
}
