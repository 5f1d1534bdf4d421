import { AutogradError, DeviceError } from '../../errors/errors.ts';
import type { Allocator } from '../../memory/allocator.ts';
import { alignedBytes } from '../../memory/allocator.ts';
import { events } from '../../memory/events.ts';
import { MemoryCounter } from '../../memory/stats.ts';
import { dtypes, newTypedArray, type TypedArray } from '../../spec/dtype.ts';
import { sizeOf } from '../../spec/shape.ts';
import type { Device, Launch, Operand } from '../device.ts';
import type { KernelOp } from '../kernel-op.ts';
import { formatSpec, type TensorMeta } from '../tensor-meta.ts';

/** Data stored on a shelf. */
export interface Kept {
  read(): TypedArray;
  drop(): void;
}

/** The storage behind a store. Throws OutOfMemoryError if it is full. */
export interface Shelf {
  put(data: TypedArray): Kept;
}

/** One value in a store. */
interface Stored {
  readonly bytes: number;
  /** Null until the data has arrived, or if it was dropped before. */
  kept: Kept | null;
  /** Whether it was dropped before it arrived. */
  isDropped: boolean;
  failure: unknown;
  /** Resolves when the data has arrived or failed; null once it has arrived. */
  landing: Promise<void> | null;
}

/** Assigns numbers instead of memory. Plans count no bytes for a store; its counter counts its contents. */
class StoreAllocator implements Allocator {
  readonly counter: MemoryCounter;
  readonly stored = new Map<number, Stored>();
  #next = 1;

  constructor(device: string) {
    this.counter = new MemoryCounter(device);
  }

  alloc(): number {
    return this.#next++;
  }

  free(ptr: number): void {
    const value = this.stored.get(ptr);
    if (!value) return;
    this.stored.delete(ptr);
    this.counter.free(ptr, value.bytes);
    value.isDropped = true;
    value.kept?.drop();
  }

  freeMemory() {
    return { free: 0, largest: 0 };
  }
}

/**
 * Stores values of other devices outside their memory, and computes nothing. A value leaves the GPU in order with all
 * previously issued work, and can be read back once it has arrived, which takes an `await`.
 */
export class StoreDevice implements Device {
  readonly name: string;
  readonly kind = 'cpu';
  readonly allocator: StoreAllocator;
  readonly sumsInBlocks = true;
  readonly typedElements = true;
  readonly overwritesOperands = false;
  readonly fusesPointwise = false;
  readonly mostFusedBuffers = 0;
  readonly mostTileColumns = 0;
  readonly innerBytes = 0;
  readonly #shelf: Shelf;

  constructor(name: string, shelf: Shelf) {
    this.name = name;
    this.allocator = new StoreAllocator(name);
    this.#shelf = shelf;
  }

  /** 0, so that plans count no bytes. */
  elementBytes(): number {
    return 0;
  }

  scratchBytes(): number {
    return 0;
  }

  prepare(op: KernelOp, [from]: readonly TensorMeta[]): Launch {
    if (op.kernel.kind !== 'transfer') throw this.#computesNothing(op.name);
    return ([source], [target]) => this.#take(from!, source!, target!);
  }

  upload(data: TypedArray, meta: TensorMeta, target: Operand): void {
    this.#begin(meta, target).kept = this.#shelf.put(data.slice());
  }

  async download(meta: TensorMeta, source: Operand): Promise<TypedArray> {
    await this.#at(source)?.landing;
    return this.downloadSync(meta, source);
  }

  downloadSync(meta: TensorMeta, source: Operand): TypedArray {
    this.expectLanded(meta, source);
    return this.#at(source)?.kept?.read() ?? newTypedArray(meta.dtype, sizeOf(meta.shape));
  }

  /** Throws AutogradError while the value is in transit, and the error that kept it from arriving. */
  expectLanded(meta: TensorMeta, source: Operand): void {
    const value = this.#at(source);
    if (value?.failure) throw value.failure;
    if (!value?.landing) return;
    throw new AutogradError({
      what: `backward: a saved value is still on its way to '${this.name}'`,
      given: `a ${formatSpec(meta)} tensor, which forward has just computed on a GPU`,
      expected: 'a backward after its copy has landed',
      remedy: 'await the loss before it (await loss.item()), or call await loss.backwardAsync()',
    });
  }

  #at({ holder }: Operand): Stored | undefined {
    return this.allocator.stored.get(holder!.ptr);
  }

  #begin({ dtype, shape }: TensorMeta, { holder }: Operand): Stored {
    const bytes = alignedBytes(sizeOf(shape) * dtypes[dtype].bytes);
    const value = { bytes, kept: null, isDropped: false, failure: null, landing: null };
    this.allocator.stored.set(holder!.ptr, value);
    this.allocator.counter.alloc(holder!.ptr, bytes);
    return value;
  }

  #take(from: TensorMeta, source: Operand, target: Operand): void {
    const { device } = from;
    const value = this.#begin(from, target);
    if (device.kind === 'meta') return;
    if (device.kind === 'cpu') {
      events.copy(device.name, this.name, value.bytes);
      value.kept = this.#shelf.put(device.downloadSync(from, source));
      return;
    }
    const land = async (data: Promise<TypedArray>): Promise<void> => {
      try {
        const landed = await data;
        if (!value.isDropped) value.kept = this.#shelf.put(landed);
      } catch (failure) {
        value.failure = failure;
      }
      value.landing = null;
    };
    value.landing = land(device.download(from, source));
  }

  #computesNothing(op: string): DeviceError {
    return new DeviceError({
      what: `${op}: '${this.name}' computes nothing`,
      given: `a tensor on '${this.name}'`,
      expected: 'a tensor on a device that computes',
      remedy: "copy it first: x.to('cpu')",
    });
  }
}
