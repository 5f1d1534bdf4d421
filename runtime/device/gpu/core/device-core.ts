import type { Operand } from '../../device.ts';
import type { BufferHandle, BufferPool, CheckedHandle, PoolBuffer } from './buffer-pool.ts';
import type { CommandCounts } from './command-batch.ts';
import type { Words } from './element-storage.ts';
import type { KernelText } from './kernel-text.ts';

/** An operand's first element. */
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

/** One op that the host computes. */
export interface HostRun<H extends CheckedHandle = BufferHandle> {
  readonly op: string;
  readonly reads: readonly WordSpan<H>[];
  readonly writes: readonly WordPlace<H>[];
  /** From what was read to what is written, in their orders; throws what the op throws. */
  readonly compute: (values: readonly Words[]) => readonly Words[];
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
  /** Kernels among those in our own WGSL, and those of them whose threads write elements of one word. */
  readonly wgsl: number;
  readonly atomic: number;
  /** Launches in our own WGSL with all operands at the places of the launch before. */
  readonly repeated: number;
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
  /** Resolves with the driver's words once it is lost; not when it is closed. */
  readonly lost: Promise<string>;
  /** Throws DeviceError when the device is closed or lost. */
  place(operand: Operand, op: string): Place<H>;
  /** Scratch of these sizes, in bytes, for what `body` issues; counted like any other memory. */
  withScratch(bytes: readonly number[], body: (buffers: readonly PoolBuffer<H>[]) => void): void;
  /** Starts a kernel's build. Throws DeviceError for what gpu.js can't translate. */
  startBuild(op: string, key: string, text: KernelText): void;
  runStage(run: StageRun<H>): void;
  copy(from: WordSpan<H>, to: WordPlace<H>): void;
  computeOnHost(run: HostRun<H>): void;
  /** `data` must not change afterwards, unless `kept` is false: then it is copied when it must wait. */
  write(data: Words, to: WordPlace<H>, kept: boolean): void;
  /** Reads after everything issued before. */
  read(from: WordSpan<H>, op: string): Promise<Words>;
  /** Resolves when the GPU has finished everything issued before. */
  synchronize(): Promise<void>;
  close(): Promise<void>;
}
