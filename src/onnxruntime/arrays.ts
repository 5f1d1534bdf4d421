import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { dtypes } from '../../runtime/spec/dtype.ts';
import { sizeOf } from '../../runtime/spec/shape.ts';
import { type Numbers, typedArray } from './elements.ts';
import { freeBuffer } from './free-buffer.ts';

/** A tensor of the package: elements as they lie in memory. */
export interface OrtTensor {
  readonly data: ArrayBufferView;
}

/** The package's `Tensor`. */
export type TensorClass = new (
  type: string,
  data: ArrayBufferView,
  dims: readonly number[],
) => OrtTensor;

export const bytesOf = ({ dtype, shape }: TensorMeta): number =>
  sizeOf(shape) * dtypes[dtype].bytes;

/** One array that onnxruntime reads and writes, counted by those who need its elements. */
export class EngineArray {
  readonly bytes: Uint8Array;
  readonly #arrays: Arrays;
  /** The tensor made of it last, and the port of a graph that it was for. */
  #tensor: OrtTensor | null = null;
  #port: TensorMeta | null = null;
  #users = 1;

  constructor(bytes: Uint8Array, arrays: Arrays) {
    this.bytes = bytes;
    this.#arrays = arrays;
  }

  /** The elements from a number on, in row-major order. */
  elements(meta: TensorMeta, offset = 0): Numbers {
    const { buffer, byteOffset } = this.bytes;
    return typedArray(buffer, byteOffset + offset * dtypes[meta.dtype].bytes, meta);
  }

  /** The whole array as a tensor, made once for a port that it goes through again and again. */
  tensor(port: TensorMeta, Tensor: TensorClass): OrtTensor {
    if (this.#tensor && this.#port === port) return this.#tensor;
    this.#port = port;
    this.#tensor = new Tensor(port.dtype, this.elements(port), port.shape);
    return this.#tensor;
  }

  retain(): this {
    this.#users++;
    return this;
  }

  release(): void {
    if (--this.#users > 0) return;
    this.#users = 1;
    this.#arrays.giveBack(this);
  }

  /** Without users: the memory is gone. */
  free(): void {
    this.#tensor = null;
    const { buffer, byteLength } = this.bytes;
    // One that is part of something larger isn't ours alone.
    if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) freeBuffer(buffer);
  }
}

/**
 * The arrays of one backend. Memory that is new in each run costs as much as a copy, so an array without users waits for
 * operands of the next run: of each size as many as the graphs have operands of it. All others are freed.
 */
export class Arrays {
  readonly Tensor: TensorClass;
  readonly #spare = new Map<number, EngineArray[]>();
  readonly #expected = new Map<number, number>();
  /** Bytes of arrays that hold current values, and of those that wait. */
  inUse = 0;
  waiting = 0;

  constructor(Tensor: TensorClass) {
    this.Tensor = Tensor;
  }

  /** A graph with such an operand was loaded (1), or disposed of (-1). */
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

  /** An array with whatever it held before, for its first user. */
  take(port: TensorMeta): EngineArray {
    const bytes = bytesOf(port);
    const known = this.#spare.get(bytes)?.pop();
    this.inUse += bytes;
    if (known) this.waiting -= bytes;
    return known ?? new EngineArray(new Uint8Array(bytes), this);
  }

  /** An array that the engine has made. */
  adopt({ buffer, byteOffset, byteLength }: ArrayBufferView): EngineArray {
    this.inUse += byteLength;
    return new EngineArray(new Uint8Array(buffer, byteOffset, byteLength), this);
  }

  giveBack(array: EngineArray): void {
    const { length } = array.bytes;
    this.inUse -= length;
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
