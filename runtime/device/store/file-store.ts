import { ArgumentError, DataError, DeviceError, OutOfMemoryError } from '../../errors/errors.ts';
import { BestFitAllocator } from '../../memory/allocator.ts';
import type { TypedArray } from '../../spec/dtype.ts';
import { registerDevice } from '../current.ts';
import { type Kept, type Shelf, StoreDevice } from './store-device.ts';

/** The increment by which the file grows. */
const chunkBytes = 2 ** 20;

let store: StoreDevice | undefined;

/**
 * Stores values in a temporary file that only this process can access, in `folder` or by default the system's
 * folder. Throws DeviceError where there are no files, and any error of opening the file.
 */
export function fileStore(folder?: string): StoreDevice {
  if (!store) {
    store = new StoreDevice('file', new FileShelf(folder));
    registerDevice(store);
  }
  return store;
}

/** Stores data in one file, at the lowest sufficiently large free offset. */
export class FileShelf implements Shelf {
  readonly #fs: typeof import('node:fs');
  readonly #file: number;
  readonly #space: BestFitAllocator;
  #end = 0;

  constructor(folder?: string) {
    const builtin = globalThis.process?.getBuiltinModule;
    if (!builtin) throw noFiles();
    this.#fs = builtin('node:fs');
    this.#file = this.#open(folder ?? builtin('node:os').tmpdir(), builtin('node:path').join);
    this.#space = new BestFitAllocator('file', {
      grow: (bytes) => {
        const ptr = Math.max(this.#end, chunkBytes);
        const taken = Math.ceil(bytes / chunkBytes) * chunkBytes;
        this.#end = ptr + taken;
        return { ptr, bytes: taken };
      },
    });
  }

  /** No other process can open the file, and the system frees it when this process ends, even by a crash. */
  #open(folder: string, join: (...parts: string[]) => string): number {
    try {
      const within = this.#fs.mkdtempSync(join(folder, 'tostatic-'));
      const file = this.#fs.openSync(join(within, 'values'), 'wx+');
      this.#fs.rmSync(within, { recursive: true, force: true });
      return file;
    } catch (cause) {
      throw noFile(folder, cause);
    }
  }

  put(data: TypedArray): Kept {
    const bytes = bytesOf(data);
    const place = this.#space.alloc(bytes.length);
    try {
      this.#whole(bytes, place, this.#fs.writeSync);
    } catch (cause) {
      this.#space.free(place, bytes.length);
      throw cause instanceof DataError ? cause : noRoom(bytes.length, cause);
    }
    const { length } = data;
    const make = data.constructor as new (length: number) => TypedArray;
    return {
      read: () => {
        const read = new make(length);
        this.#whole(bytesOf(read), place, this.#fs.readSync);
        return read;
      },
      drop: () => this.#space.free(place, bytes.length),
    };
  }

  /** Throws DataError if the file has fewer bytes. */
  #whole(bytes: Uint8Array, place: number, step: Transfer): void {
    for (let done = 0; done < bytes.length; ) {
      const moved = step(this.#file, bytes, done, bytes.length - done, place + done);
      if (moved === 0) throw cutShort(bytes.length, done);
      done += moved;
    }
  }
}

type Transfer = (
  file: number,
  buffer: Uint8Array,
  offset: number,
  length: number,
  position: number,
) => number;

const bytesOf = ({ buffer, byteOffset, byteLength }: TypedArray) =>
  new Uint8Array(buffer, byteOffset, byteLength);

function noFiles(): DeviceError {
  return new DeviceError({
    what: "init: 'file' keeps values in a file",
    given: 'a runtime without files',
    expected: 'Node',
    remedy: "memory: { offload: 'host' } keeps the values of a GPU in memory",
  });
}

function noFile(folder: string, cause: unknown): ArgumentError {
  return new ArgumentError({
    what: "init: no file for 'file' can be made",
    given: `the folder '${folder}': ${cause instanceof Error ? cause.message : String(cause)}`,
    expected: 'a folder that this process may write to',
    remedy: "name another one: await init('file', { folder })",
    cause,
  });
}

function noRoom(bytes: number, cause: unknown): OutOfMemoryError {
  return new OutOfMemoryError({
    what: "offload: a saved value can't be written to its file",
    given: `${bytes} bytes: ${cause instanceof Error ? cause.message : String(cause)}`,
    expected: 'room on the disk',
    remedy: "free some, or choose another disk: await init('file', { folder })",
    cause,
  });
}

function cutShort(bytes: number, found: number): DataError {
  return new DataError({
    what: 'offload: the file of saved values was cut short',
    given: `${found} bytes of a value`,
    expected: `${bytes} bytes`,
    remedy: 'leave the files of a running process alone, and run the step again',
  });
}
