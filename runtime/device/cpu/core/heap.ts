import { OutOfMemoryError } from '../../../errors/errors.ts';
import type { ChunkSource } from '../../../memory/allocator.ts';
import type { DType, TypedArray } from '../../../spec/dtype.ts';
import { innerBytes } from '../../inner-bytes.ts';

/** Bytes of a WebAssembly page. */
export const pageBytes = 65536;

/** The limit of WebAssembly's 32-bit addresses: 4 GiB. */
const maximumPages = 65536;

/** Smaller chunks aren't worth a `memory.grow`. */
const minimumChunkBytes = 1 << 20;

/** The scratch memory of one thread; see `scratch.ts`. */
export const threadBytes = 36 * pageBytes;

/** The maximum number of threads, including the one that runs the program. */
export const mostThreads = 16;

/** The address of the arguments of a kernel's parts, and of tables they share. */
export const partArgumentsAt = mostThreads * threadBytes;
export const partArgumentsBytes = 24 * pageBytes;

/** The address of tables shared by a kernel's parts; replaced while kernels are recorded for a module. */
export const sharedTables: { at: number } = { at: partArgumentsAt };

/** The address of values between the stages of a staged op. */
export const innerAt = partArgumentsAt + partArgumentsBytes;

/**
 * The size of the memory's start that belongs to no tensor: address 0 means "no memory", and kernels keep their
 * arguments and packed panels there (see `scratch.ts`). It never changes, whatever the number of threads. Like code, it
 * is a fixed cost of the device, not attributed to tensors. The system only backs pages that are used.
 */
export const fixedBytes = innerAt + innerBytes;

/** Whether threads can share memory: in Node, and in cross-origin isolated pages. */
export const canShare: boolean =
  typeof globalThis.SharedArrayBuffer === 'function' && globalThis.crossOriginIsolated !== false;

/**
 * Memory for engines without WebAssembly, such as Node with `--jitless` or Safari in lockdown mode, where all kernels
 * are JavaScript. No view of the earlier buffer is used after it has grown.
 */
function plainMemory(pages: number): WebAssembly.Memory {
  let bytes = new Uint8Array(pages * pageBytes);
  const memory = {
    get buffer(): ArrayBuffer {
      return bytes.buffer;
    },
    grow(added: number): void {
      const larger = new Uint8Array(bytes.length + added * pageBytes);
      larger.set(bytes);
      bytes = larger;
    },
  };
  return memory as unknown as WebAssembly.Memory;
}

/**
 * The CPU device's memory: one growable WebAssembly memory, so that kernels in JavaScript and WebAssembly, and all
 * threads, work on the same bytes. When it grows, old views don't cover the new part (unshared ones are detached), so
 * kernels get views at launch and never keep them.
 */
export class Heap implements ChunkSource {
  readonly memory: WebAssembly.Memory;
  f32!: Float32Array;
  f64!: Float64Array;
  i32!: Int32Array;
  u16!: Uint16Array;
  u8!: Uint8Array;
  readonly #limit: number;

  constructor(limitPages = maximumPages) {
    this.#limit = limitPages;
    const initial = fixedBytes / pageBytes;
    this.memory = globalThis.WebAssembly
      ? new WebAssembly.Memory({ initial, maximum: limitPages, shared: canShare })
      : plainMemory(initial);
    this.#refresh();
  }

  /** All bytes reserved from the system, including the fixed ones. */
  get bytes(): number {
    return this.u8.length;
  }

  /** Returns a view of the whole memory; index 0 is address 0. */
  view(dtype: DType): TypedArray {
    switch (dtype) {
      case 'float32':
        return this.f32;
      case 'float64':
        return this.f64;
      case 'int32':
        return this.i32;
      case 'float16':
      case 'bfloat16':
        return this.u16;
      case 'bool':
      case 'uint8':
        return this.u8;
    }
  }

  grow(bytes: number): { readonly ptr: number; readonly bytes: number } {
    const needed = Math.ceil(bytes / pageBytes);
    const left = this.#limit - this.bytes / pageBytes;
    // The minimum chunk is only a preference: near the limit, the remainder suffices.
    const pages = Math.max(needed, Math.min(minimumChunkBytes / pageBytes, left));
    const ptr = this.bytes;
    try {
      this.memory.grow(pages);
    } catch (cause) {
      throw this.#outOfMemory(bytes, cause);
    }
    this.#refresh();
    return { ptr, bytes: pages * pageBytes };
  }

  #refresh(): void {
    const { buffer } = this.memory;
    this.f32 = new Float32Array(buffer);
    this.f64 = new Float64Array(buffer);
    this.i32 = new Int32Array(buffer);
    this.u16 = new Uint16Array(buffer);
    this.u8 = new Uint8Array(buffer);
  }

  #outOfMemory(bytes: number, cause: unknown): OutOfMemoryError {
    const reserved = this.bytes - fixedBytes;
    return new OutOfMemoryError({
      what: 'cpu: out of memory',
      given: `${bytes} bytes more, with ${reserved} bytes reserved`,
      expected: `at most ${this.#limit * pageBytes - fixedBytes} bytes in all`,
      remedy:
        'use a smaller batch, dispose of tensors or work inside tidy(), or train with toStatic, which frees values at their last use',
      cause,
    });
  }
}

export const heap = new Heap();
