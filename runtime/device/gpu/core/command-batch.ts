import { invariant } from '../../../errors/invariant.ts';
import type { KernelTiming } from '../../../profiler/spans.ts';
import { KernelClock } from './kernel-clock.ts';

/** Numbers of workgroups along x, y and z. */
export type Groups = readonly [x: number, y: number, z: number];

/** A compiled kernel in the terms of WebGPU. */
export interface Dispatched {
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
  /** Size of the uniforms. */
  readonly uniformBytes: number;
}

/** Counts since the device was opened. */
export interface CommandCounts {
  readonly dispatches: number;
  readonly submits: number;
  readonly bindGroups: number;
}

/** A bind group and what it binds, besides the slot's own uniforms. */
interface Bound {
  readonly kernel: Dispatched;
  readonly buffers: readonly GPUBuffer[];
  readonly group: GPUBindGroup;
}

/** Dispatches in one submit: the GPU starts on a long sequence before the host has encoded all of it. */
const slots = 256;

/** Bytes of uniforms per slot: a multiple of every adapter's `minUniformBufferOffsetAlignment`. */
const slotBytes = 256;

/** Bind groups kept per slot: a training step and an evaluation alternate, and buffers change owners. */
const keptPerSlot = 8;

const usage = { copyTarget: 8, uniform: 64 } as const;

/**
 * Commands on their way to one submit. The n-th dispatch of a batch has the n-th slot of one uniform buffer, uploaded
 * once per submit; a steady step dispatches the same kernels on the same buffers in the same slots, so its bind groups
 * are found there. A batch is submitted when it is full, by `flush()`, and at the end of the current microtask.
 */
export class CommandBatch {
  /** The uniforms of the batch, by words. */
  readonly u32: Uint32Array;
  readonly i32: Int32Array;
  readonly f32: Float32Array;
  readonly #mirror = new ArrayBuffer(slots * slotBytes);
  readonly #device: GPUDevice;
  readonly #uniforms: GPUBuffer;
  /** By slot, the last used first. */
  readonly #bound: Bound[][] = Array.from({ length: slots }, () => []);
  readonly #onError: (cause: unknown) => void;
  #encoder: GPUCommandEncoder | null = null;
  #pass: GPUComputePassEncoder | null = null;
  /** Made for the first profile. */
  #clock: KernelClock | null = null;
  /** Receives the time of the next dispatch; null: it is not measured. */
  timing: KernelTiming | null = null;
  /** Slots in use. */
  #used = 0;
  #scheduled = false;
  #dispatches = 0;
  #submits = 0;
  #bindGroups = 0;

  /** `onError` receives what a submit at the end of a microtask throws. */
  constructor(device: GPUDevice, onError: (cause: unknown) => void) {
    this.#device = device;
    this.#onError = onError;
    this.u32 = new Uint32Array(this.#mirror);
    this.i32 = new Int32Array(this.#mirror);
    this.f32 = new Float32Array(this.#mirror);
    const size = slots * slotBytes;
    this.#uniforms = device.createBuffer({ size, usage: usage.copyTarget | usage.uniform });
  }

  get counts(): CommandCounts {
    return {
      dispatches: this.#dispatches,
      submits: this.#submits,
      bindGroups: this.#bindGroups,
    };
  }

  /** The first word of the next dispatch's uniforms, which the caller writes before `dispatch`. */
  nextUniforms({ uniformBytes }: Dispatched): number {
    if (this.#used + slotsOf(uniformBytes) > slots) this.flush();
    return this.#used * (slotBytes / 4);
  }

  /** One kernel on buffers in the order of their bindings, after everything encoded before. */
  dispatch(kernel: Dispatched, buffers: readonly GPUBuffer[], groups: Groups): void {
    const group = this.#bindGroup(kernel, buffers);
    const { timing } = this;
    if (timing) this.#endPass();
    this.#pass ??= this.#open().beginComputePass(timing ? this.#timedPass(timing) : undefined);
    this.#pass.setPipeline(kernel.pipeline);
    this.#pass.setBindGroup(0, group);
    this.#pass.dispatchWorkgroups(groups[0], groups[1], groups[2]);
    if (timing) {
      this.#endPass();
      this.timing = null;
    }
    this.#used += slotsOf(kernel.uniformBytes);
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

  /** Submits what is encoded; the queue's own writes and maps come after it. */
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
  }

  #bindGroup(kernel: Dispatched, buffers: readonly GPUBuffer[]): GPUBindGroup {
    const known = this.#bound[this.#used]!;
    const at = known.findIndex((bound) => bound.kernel === kernel && equal(bound.buffers, buffers));
    if (at === 0) return known[0]!.group;
    const bound = at > 0 ? known.splice(at, 1)[0]! : this.#bind(kernel, buffers);
    known.unshift(bound);
    if (known.length > keptPerSlot) known.pop();
    return bound.group;
  }

  #bind(kernel: Dispatched, buffers: readonly GPUBuffer[]): Bound {
    const { layout, uniformBytes: size } = kernel;
    const most = slots * slotBytes;
    invariant(size <= most, `a kernel has ${size} bytes of uniforms, more than ${most}`);
    const uniforms = { buffer: this.#uniforms, offset: this.#used * slotBytes, size };
    const group = this.#device.createBindGroup({
      layout,
      entries: [
        { binding: 0, resource: uniforms },
        ...buffers.map((buffer, i) => ({ binding: i + 1, resource: { buffer } })),
      ],
    });
    this.#bindGroups++;
    return { kernel, buffers, group };
  }
}

/** A kernel of many uniforms takes several slots. */
function slotsOf(uniformBytes: number): number {
  return Math.max(1, Math.ceil(uniformBytes / slotBytes));
}

function equal(a: readonly GPUBuffer[], b: readonly GPUBuffer[]): boolean {
  return a === b || (a.length === b.length && a.every((buffer, i) => buffer === b[i]));
}
