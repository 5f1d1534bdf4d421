import type { KernelTiming } from '../../../profiler/spans.ts';
import { type Bindable, BindGroups, type BoundKernel, type Dispatched } from './bind-groups.ts';
import { KernelClock } from './kernel-clock.ts';

/** Workgroup counts along x, y and z. */
export type Groups = readonly [x: number, y: number, z: number];

/** Counts since the device was opened. */
export interface CommandCounts {
  readonly dispatches: number;
  readonly submits: number;
  readonly bindGroups: number;
}

/** Dispatches per submit, so that the GPU starts on a long sequence before JavaScript has encoded all of it. */
const slots = 256;

/** Bytes of uniforms per slot: a multiple of every adapter's `minUniformBufferOffsetAlignment`. */
const slotBytes = 256;

/** The offset of each slot, in the form that `setBindGroup` reads dynamic offsets. */
const slotOffsets = Uint32Array.from({ length: slots }, (_, slot) => slot * slotBytes);

const usage = { copyTarget: 8, uniform: 64 } as const;

/**
 * Commands of the next submit. Dispatch n of a batch has slot n of a uniform buffer, which is uploaded once per
 * submit. A batch is submitted when it is full, by `flush()`, and at the end of the current microtask.
 */
export class CommandBatch {
  /** The batch's uniforms as words. */
  readonly u32: Uint32Array;
  readonly i32: Int32Array;
  readonly f32: Float32Array;
  readonly #mirror = new ArrayBuffer(slots * slotBytes);
  readonly #device: GPUDevice;
  readonly #uniforms: GPUBuffer;
  readonly #bindGroups: BindGroups;
  readonly #onError: (cause: unknown) => void;
  #encoder: GPUCommandEncoder | null = null;
  #pass: GPUComputePassEncoder | null = null;
  /** The pipeline set in the pass. */
  #pipeline: GPUComputePipeline | null = null;
  /** Created for the first profile. */
  #clock: KernelClock | null = null;
  /** Receives the time of the next dispatch; null if it is not measured. */
  timing: KernelTiming | null = null;
  /** The number of used slots. */
  #used = 0;
  #scheduled = false;
  #dispatches = 0;
  #submits = 0;

  /** `onError` receives exceptions of a submit at the end of a microtask. */
  constructor(device: GPUDevice, onError: (cause: unknown) => void) {
    this.#device = device;
    this.#onError = onError;
    this.u32 = new Uint32Array(this.#mirror);
    this.i32 = new Int32Array(this.#mirror);
    this.f32 = new Float32Array(this.#mirror);
    const size = slots * slotBytes;
    this.#uniforms = device.createBuffer({ size, usage: usage.copyTarget | usage.uniform });
    this.#bindGroups = new BindGroups(device, this.#uniforms, slotBytes);
  }

  get counts(): CommandCounts {
    return {
      dispatches: this.#dispatches,
      submits: this.#submits,
      bindGroups: this.#bindGroups.made,
    };
  }

  /** Returns the first word of the next dispatch's uniforms, which the caller writes before `dispatch`. */
  nextUniforms({ uniformBytes }: Dispatched): number {
    if (this.#used + slotsOf(uniformBytes) > slots) this.flush();
    return this.#used * (slotBytes / 4);
  }

  /**
   * Binds a kernel to buffers in binding order, for the next dispatch; for any dispatch if its uniforms have a
   * dynamic offset.
   */
  bind(kernel: Dispatched, buffers: readonly Bindable[]): BoundKernel {
    return this.#bindGroups.of(kernel, buffers, this.#used);
  }

  /** Encodes a dispatch after all previously encoded commands. */
  dispatch({ kernel, group }: BoundKernel, groups: Groups): void {
    const { pipeline, hasDynamicOffset, uniformBytes } = kernel;
    const { timing } = this;
    if (timing) this.#endPass();
    this.#pass ??= this.#open().beginComputePass(timing ? this.#timedPass(timing) : undefined);
    const pass = this.#pass;
    if (pipeline !== this.#pipeline) pass.setPipeline(pipeline);
    this.#pipeline = pipeline;
    if (hasDynamicOffset) pass.setBindGroup(0, group, slotOffsets, this.#used, 1);
    else pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(groups[0], groups[1], groups[2]);
    if (timing) {
      this.#endPass();
      this.timing = null;
    }
    this.#used += slotsOf(uniformBytes);
    this.#dispatches++;
  }

  #timedPass(timing: KernelTiming): GPUComputePassDescriptor {
    this.#clock ??= new KernelClock(this.#device, slots);
    return this.#clock.next(timing);
  }

  copy(from: GPUBuffer, fromByte: number, to: GPUBuffer, toByte: number, bytes: number): void {
    const encoder = this.#open();
    this.#endPass();
    encoder.copyBufferToBuffer(from, fromByte, to, toByte, bytes);
  }

  /** Submits the encoded commands, before writes and maps of the queue itself. */
  flush(): void {
    const encoder = this.#encoder;
    if (!encoder) return;
    this.#endPass();
    const bytes = this.#used * slotBytes;
    this.#encoder = null;
    this.#used = 0;
    const { queue } = this.#device;
    if (bytes > 0) queue.writeBuffer(this.#uniforms, 0, this.#mirror, 0, bytes);
    const readTimes = this.#clock?.finish(encoder);
    try {
      queue.submit([encoder.finish()]);
    } finally {
      readTimes?.();
    }
    this.#submits++;
  }

  destroy(): void {
    this.#uniforms.destroy();
    this.#clock?.destroy();
  }

  #open(): GPUCommandEncoder {
    this.#encoder ??= this.#device.createCommandEncoder();
    if (!this.#scheduled) {
      this.#scheduled = true;
      queueMicrotask(this.#endOfTask);
    }
    return this.#encoder;
  }

  readonly #endOfTask = (): void => {
    this.#scheduled = false;
    try {
      this.flush();
    } catch (cause) {
      this.#onError(cause);
    }
  };

  #endPass(): void {
    this.#pass?.end();
    this.#pass = null;
    this.#pipeline = null;
  }
}

/** Returns the number of slots; a kernel with many uniforms takes several. */
function slotsOf(uniformBytes: number): number {
  return Math.max(1, Math.ceil(uniformBytes / slotBytes));
}
