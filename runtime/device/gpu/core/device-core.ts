import type { Operand } from '../../device.ts';
import type { BufferHandle, BufferPool, CheckedHandle, PoolBuffer } from './buffer-pool.ts';
import type { CommandCounts } from './command-batch.ts';
import type { Words } from './element-storage.ts';
import type { KernelText } from './kernel-text.ts';

/** The location of an operand's first element. */
export interface Place<H extends CheckedHandle = BufferHandle> {
  readonly buffer: PoolBuffer<H>;
  readonly offset: number;
}

/** A part of a buffer, in 32-bit words. */
export interface WordPlace<H extends CheckedHandle = BufferHandle> {
  readonly buffer: PoolBuffer<H>;
  readonly first: number;
}

export interface WordSpan<H extends CheckedHandle = BufferHandle> extends WordPlace<H> {
  readonly count: number;
}

/** One op computed by JavaScript on the CPU. */
export interface HostRun<H extends CheckedHandle = BufferHandle> {
  readonly op: string;
  readonly reads: readonly WordSpan<H>[];
  readonly writes: readonly WordPlace<H>[];
  /** Computes the values to write from the values read, each in order; throws the op's errors. */
  readonly compute: (values: readonly Words[]) => readonly Words[];
}

/** One run of a gpu.js kernel. */
export interface StageRun<H extends CheckedHandle = BufferHandle> {
  readonly op: string;
  /** The cache key of `text`. */
  readonly key: string;
  readonly text: KernelText;
  readonly target: Place<H>;
  /** In the order of the text's arrays; arrays in `text.aliases` are the target's buffer. */
  readonly inputs: readonly PoolBuffer<H>[];
  readonly scalars: readonly number[];
}

export interface KernelStats {
  /** Since the device was opened. */
  readonly compiled: number;
  /** The number of our own WGSL kernels, and how many of them have threads that share words. */
  readonly wgsl: number;
  readonly atomic: number;
  /** Launches of our own WGSL kernels with all operands at the same locations as in the previous launch. */
  readonly repeated: number;
  /** Currently cached. */
  readonly cached: number;
}

/**
 * Services of a browser API (WebGPU, WebGL2) for a device: buffers with handles `H`, gpu.js kernels, and a single
 * order of execution.
 */
export interface DeviceCore<H extends CheckedHandle = BufferHandle> {
  readonly pool: BufferPool<H>;
  /** The maximum number of operands and results of a kernel. */
  readonly mostBuffers: number;
  readonly commandCounts: CommandCounts;
  readonly kernelStats: KernelStats;
  /** Whether the device is lost, after which it is unusable. */
  readonly isLost: boolean;
  /** Resolves with the driver's message when the device is lost; not when it is closed. */
  readonly lost: Promise<string>;
  /** Throws DeviceError if the device is closed or lost. */
  place(operand: Operand, op: string): Place<H>;
  /** Runs `body` with scratch memory of these sizes, in bytes; counted like any other memory. */
  withScratch(bytes: readonly number[], body: (buffers: readonly PoolBuffer<H>[]) => void): void;
  /** Starts building a kernel. Throws DeviceError if gpu.js can't translate it. */
  startBuild(op: string, key: string, text: KernelText): void;
  runStage(run: StageRun<H>): void;
  copy(from: WordSpan<H>, to: WordPlace<H>): void;
  computeOnHost(run: HostRun<H>): void;
  /** `data` must not change afterwards if `kept`; otherwise it is copied if it has to wait. */
  write(data: Words, to: WordPlace<H>, kept: boolean): void;
  /** Reads after all previously issued work. */
  read(from: WordSpan<H>, op: string): Promise<Words>;
  /** Resolves when the GPU has finished all previously issued work. */
  synchronize(): Promise<void>;
  close(): Promise<void>;
}
