import { invariant } from '../../../errors/invariant.ts';

/** A compiled kernel in the terms of WebGPU. */
export interface Dispatched {
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
  /** Size of the uniforms. */
  readonly uniformBytes: number;
  /** The layout has the place of the uniforms as a dynamic offset: a bind group serves every slot. */
  readonly hasDynamicOffset: boolean;
}

/** A kernel and the bind group of its operands. */
export interface BoundKernel {
  readonly kernel: Dispatched;
  readonly group: GPUBindGroup;
}

/** A buffer, or a part of it, that a kernel binds. */
export interface Bindable {
  readonly buffer: GPUBuffer;
  readonly start: number;
  readonly bytes: number;
}

/**
 * Bind groups kept per kernel. An eager step runs one kernel on some hundred sets of buffers, in the same order each
 * time: fewer would all be gone when they are needed again.
 */
const keptPerKernel = 512;

/** Bind groups by kernel and buffers. Nothing is kept of a kernel that is gone. */
export class BindGroups {
  readonly #device: GPUDevice;
  readonly #uniforms: GPUBuffer;
  readonly #slotBytes: number;
  readonly #byKernel = new WeakMap<Dispatched, Map<string, BoundKernel>>();
  /** Buffers by number, which no two of them share. */
  readonly #numbers = new WeakMap<Bindable, number>();
  #next = 0;
  #made = 0;

  constructor(device: GPUDevice, uniforms: GPUBuffer, slotBytes: number) {
    this.#device = device;
    this.#uniforms = uniforms;
    this.#slotBytes = slotBytes;
  }

  /** How many were made. */
  get made(): number {
    return this.#made;
  }

  /** The one for a kernel with its uniforms in `slot`, on buffers in the order of their bindings. */
  of(kernel: Dispatched, buffers: readonly Bindable[], slot: number): BoundKernel {
    let known = this.#byKernel.get(kernel);
    if (!known) {
      known = new Map();
      this.#byKernel.set(kernel, known);
    }
    let key = kernel.hasDynamicOffset ? '' : `${slot}:`;
    for (const buffer of buffers) key += `${this.#numberOf(buffer)},`;
    const found = known.get(key);
    // The last used is the last in the map.
    if (found) known.delete(key);
    else if (known.size >= keptPerKernel) known.delete(known.keys().next().value!);
    const bound = found ?? this.#make(kernel, buffers, slot);
    known.set(key, bound);
    return bound;
  }

  #numberOf(buffer: Bindable): number {
    let number = this.#numbers.get(buffer);
    if (number === undefined) {
      number = this.#next++;
      this.#numbers.set(buffer, number);
    }
    return number;
  }

  #make(kernel: Dispatched, buffers: readonly Bindable[], slot: number): BoundKernel {
    const { layout, uniformBytes: size, hasDynamicOffset } = kernel;
    const offset = hasDynamicOffset ? 0 : slot * this.#slotBytes;
    const most = this.#uniforms.size;
    invariant(size <= most, `a kernel has ${size} bytes of uniforms, more than ${most}`);
    const group = this.#device.createBindGroup({
      layout,
      entries: [
        { binding: 0, resource: { buffer: this.#uniforms, offset, size } },
        ...buffers.map(({ buffer, start, bytes }, i) => ({
          binding: i + 1,
          resource: { buffer, offset: start, size: bytes },
        })),
      ],
    });
    this.#made++;
    return { kernel, group };
  }
}
