import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { dtypes } from '../../runtime/spec/dtype.ts';
import { sizeOf } from '../../runtime/spec/shape.ts';
import { type Numbers, typedArray } from './elements.ts';
import { freeBuffer } from './free-buffer.ts';

/** A tensor of the package: elements in memory order, unless they are on a GPU. */
export interface OrtTensor {
  readonly data: ArrayBufferView;
  readonly location?: string;
}

/** A tensor of onnxruntime-web whose elements are in a WebGPU buffer. */
interface OrtGpuTensor extends OrtTensor {
  readonly dims: readonly number[];
  readonly gpuBuffer: object;
  /** Returns a copy of the elements. */
  getData(): Promise<ArrayBufferView>;
  dispose(): void;
}

/** The package's `Tensor`. */
export interface TensorClass {
  new (type: string, data: ArrayBufferView, dims: readonly number[]): OrtTensor;
  fromGpuBuffer?(
    buffer: object,
    options: { readonly dataType: string; readonly dims: readonly number[] },
  ): OrtTensor;
}

export const bytesOf = ({ dtype, shape }: TensorMeta): number =>
  sizeOf(shape) * dtypes[dtype].bytes;

/** Elements that the engine reads or wrote, with a count of their users. */
export abstract class EngineArray {
  readonly #arrays: Arrays;
  /** The tensor last created from it, and the graph port that it was created for. */
  #tensor: OrtTensor | null = null;
  #port: TensorMeta | null = null;
  #users = 1;

  constructor(arrays: Arrays) {
    this.#arrays = arrays;
  }

  /** In bytes. */
  abstract readonly length: number;

  /** Returns the whole array as a tensor, cached for a port that it passes through repeatedly. */
  tensor(port: TensorMeta, Tensor: TensorClass): OrtTensor {
    if (this.#tensor && this.#port === port) return this.#tensor;
    this.#port = port;
    this.#tensor = this.makeTensor(port, Tensor);
    return this.#tensor;
  }

  protected abstract makeTensor(port: TensorMeta, Tensor: TensorClass): OrtTensor;

  retain(): this {
    this.#users++;
    return this;
  }

  release(): void {
    if (--this.#users > 0) return;
    this.#users = 1;
    this.#arrays.release(this);
  }

  /** Frees the memory of an array without users. */
  free(): void {
    this.#tensor = null;
  }
}

/** An array in JavaScript memory. */
export class HostArray extends EngineArray {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array, arrays: Arrays) {
    super(arrays);
    this.bytes = bytes;
  }

  get length(): number {
    return this.bytes.length;
  }

  /** Returns the elements from `offset` on, in row-major order. */
  elements(meta: TensorMeta, offset = 0): Numbers {
    const { buffer, byteOffset } = this.bytes;
    return typedArray(buffer, byteOffset + offset * dtypes[meta.dtype].bytes, meta);
  }

  protected makeTensor(port: TensorMeta, Tensor: TensorClass): OrtTensor {
    return new Tensor(port.dtype, this.elements(port), port.shape);
  }

  override free(): void {
    super.free();
    const { buffer, byteLength } = this.bytes;
    // A part of a larger buffer may have other users.
    if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) freeBuffer(buffer);
  }
}

/** A buffer of the engine's GPU, which is read asynchronously. */
export class GpuArray extends EngineArray {
  readonly length: number;
  readonly #own: OrtGpuTensor;
  #read: Promise<HostArray> | null = null;
  /** Its elements in JavaScript memory, once they have arrived. */
  arrived: HostArray | null = null;

  constructor(own: OrtGpuTensor, length: number, arrays: Arrays) {
    super(arrays);
    this.#own = own;
    this.length = length;
  }

  /** Reads the elements, once. */
  read(arrays: Arrays): Promise<HostArray> {
    this.#read ??= this.#readNow(arrays);
    return this.#read;
  }

  async #readNow(arrays: Arrays): Promise<HostArray> {
    this.retain();
    try {
      const { buffer, byteOffset } = await this.#own.getData();
      this.arrived = new HostArray(new Uint8Array(buffer, byteOffset, this.length), arrays);
      return this.arrived;
    } finally {
      this.release();
    }
  }

  protected makeTensor({ dtype, shape }: TensorMeta, Tensor: TensorClass): OrtTensor {
    const { dims, gpuBuffer } = this.#own;
    if (dims.join() === shape.join()) return this.#own;
    return Tensor.fromGpuBuffer!(gpuBuffer, { dataType: dtype, dims: shape });
  }

  override free(): void {
    super.free();
    this.#own.dispose();
  }
}

/** Bytes that only the engine can read. */
interface EngineBytes {
  /** Copies them to the runtime's memory. */
  arrive(): Promise<void>;
}

/**
 * The arrays of one backend. Allocating memory in each run costs as much as a copy, so arrays without users are kept
 * for operands of the next run: for each size, as many as the graphs have such operands. All others are freed.
 */
export class Arrays {
  readonly Tensor: TensorClass;
  readonly #spare = new Map<number, HostArray[]>();
  readonly #expected = new Map<number, number>();
  /** Bytes of arrays with current values, of arrays on a GPU, and of arrays kept for reuse. */
  inUse = 0;
  onGpu = 0;
  waiting = 0;
  /** Allocations whose bytes are on a GPU. */
  readonly distant = new Set<EngineBytes>();

  constructor(Tensor: TensorClass) {
    this.Tensor = Tensor;
  }

  /** Called when a graph with such an operand is loaded (1) or disposed (-1). */
  expect(port: TensorMeta, change: 1 | -1): void {
    const bytes = bytesOf(port);
    const expected = (this.#expected.get(bytes) ?? 0) + change;
    this.#expected.set(bytes, expected);
    const spare = this.#spare.get(bytes) ?? [];
    while (spare.length > expected) {
      spare.pop()!.free();
      this.waiting -= bytes;
    }
  }

  /** Returns an array with arbitrary content, for its first user. */
  take(port: TensorMeta): HostArray {
    const bytes = bytesOf(port);
    const known = this.#spare.get(bytes)?.pop();
    this.inUse += bytes;
    if (known) this.waiting -= bytes;
    return known ?? new HostArray(new Uint8Array(bytes), this);
  }

  /** Adopts a result that the engine created, as a port of a graph. */
  adopt(result: OrtTensor, port: TensorMeta): EngineArray {
    this.inUse += bytesOf(port);
    if (result.location === 'gpu-buffer') {
      this.onGpu += bytesOf(port);
      return new GpuArray(result as OrtGpuTensor, bytesOf(port), this);
    }
    const { buffer, byteOffset, byteLength } = result.data;
    return new HostArray(new Uint8Array(buffer, byteOffset, byteLength), this);
  }

  release(array: EngineArray): void {
    const { length } = array;
    this.inUse -= length;
    if (!(array instanceof HostArray)) {
      this.onGpu -= length;
      array.free();
      return;
    }
    const spare = this.#spare.get(length) ?? [];
    if (spare.length >= (this.#expected.get(length) ?? 0)) {
      array.free();
      return;
    }
    this.#spare.set(length, spare);
    spare.push(array);
    this.waiting += length;
  }
}
