import { invariant } from '../../../errors/invariant.ts';

/** A compiled kernel as WebGPU objects. */
export interface Dispatched {
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
  /** The size of the uniforms. */
  readonly uniformBytes: number;
  /** Whether the layout has a dynamic offset for the uniforms, so that a bind group serves every slot. */
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
 * The number of bind groups cached per kernel. An eager step runs a kernel on hundreds of sets of buffers, in the same
 * order each time: a smaller cache would evict all of them before they recur.
 */
const keptPerKernel = 512;

/** Bind groups by kernel and buffers, dropped with the kernel. */
export class BindGroups {
  readonly #device: GPUDevice;
  readonly #uniforms: GPUBuffer;
  readonly #slotBytes: number;
  readonly #byKernel = new WeakMap<Dispatched, Map<string, BoundKernel>>();
  /** A unique number for each buffer. */
  readonly #numbers = new WeakMap<Bindable, number>();
  #next = 0;
  #made = 0;

  constructor(device: GPUDevice, uniforms: GPUBuffer, slotBytes: number) {
    this.#device = device;
    this.#uniforms = uniforms;
    this.#slotBytes = slotBytes;
  }

  /** The number of bind groups created. */
  get made(): number {
    return this.#made;
  }

  /** Returns the bind group for a kernel with its uniforms in `slot` and buffers in binding order. */
  of(kernel: Dispatched, buffers: readonly Bindable[], slot: number): BoundKernel {
    let known = this.#byKernel.get(kernel);
    if (!known) {
      known = new Map();
      this.#byKernel.set(kernel, known);
    }
    let key = kernel.hasDynamicOffset ? '' : `${slot}:`;
    for (const buffer of buffers) key += `${this.#numberOf(buffer)},`;
    const found = known.get(key);
    // The map keeps least recently used entries first.
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
