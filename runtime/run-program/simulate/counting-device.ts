import type { Device, Launch } from '../../device/device.ts';
import { type Attrs, isFused } from '../../device/kernel-op.ts';
import type { TensorMeta } from '../../device/tensor-meta.ts';
import { type Allocator, alignedBytes } from '../../memory/allocator.ts';
import { MemoryCounter } from '../../memory/stats.ts';
import type { OpRecord } from '../../ops/record/define-op.ts';
import type { DType, TypedArray } from '../../spec/dtype.ts';
import { currentSimulation } from './simulation.ts';

/** Counts allocations in the current simulation. */
class CountingAllocator implements Allocator {
  readonly counter: MemoryCounter;

  constructor(device: string) {
    this.counter = new MemoryCounter(device);
  }

  alloc(bytes: number): number {
    currentSimulation().alloc(alignedBytes(bytes));
    return 0;
  }

  free(_ptr: number, bytes: number): void {
    currentSimulation().free(alignedBytes(bytes));
  }

  freeMemory() {
    return { free: 0, largest: 0 };
  }
}

const nothing: Launch = () => {};
const noBytes = new Uint8Array(0);

/**
 * Replaces a device in simulated runs: counts the bytes that the real device would allocate, including kernel
 * scratch memory, and computes nothing. Reads return the simulation's decisions.
 */
class CountingDevice implements Device {
  readonly name: string;
  readonly kind = 'meta';
  readonly allocator: Allocator;
  readonly sumsInBlocks: boolean;
  readonly typedElements: boolean;
  readonly overwritesOperands: boolean;
  readonly fusesPointwise: boolean;
  readonly mostFusedBuffers: number;
  readonly mostTileColumns: number;
  readonly innerBytes: Device['innerBytes'];
  readonly real: Device;
  readonly #read = new Float64Array(1);

  constructor(real: Device) {
    this.real = real;
    this.name = real.name;
    this.allocator = new CountingAllocator(real.name);
    this.sumsInBlocks = real.sumsInBlocks;
    this.typedElements = real.typedElements;
    this.overwritesOperands = real.overwritesOperands;
    this.fusesPointwise = real.fusesPointwise;
    this.mostFusedBuffers = real.mostFusedBuffers;
    this.mostTileColumns = real.mostTileColumns;
    this.innerBytes = real.innerBytes;
  }

  elementBytes(dtype: DType): number {
    return this.real.elementBytes(dtype);
  }

  prepare(
    op: OpRecord,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
  ): Launch {
    const bytes = this.scratchBytes(op, inputs, outputs, attrs);
    return bytes === 0 ? nothing : () => currentSimulation().touch(bytes);
  }

  scratchBytes(
    op: OpRecord,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
  ): number {
    if (isFused(op.kernel)) return 0;
    return this.real.scratchBytes(op, inputs.map(onRealDevice), outputs.map(onRealDevice), attrs);
  }

  upload(): void {}

  async download(): Promise<TypedArray> {
    return noBytes;
  }

  downloadSync(): TypedArray {
    this.#read[0] = currentSimulation().read();
    return this.#read;
  }
}

const devices = new WeakMap<Device, CountingDevice>();

export function countingDevice(real: Device): Device {
  let device = devices.get(real);
  if (!device) {
    device = new CountingDevice(real);
    devices.set(real, device);
  }
  return device;
}

function onRealDevice(meta: TensorMeta): TensorMeta {
  const { device } = meta;
  return device instanceof CountingDevice ? { ...meta, device: device.real } : meta;
}
