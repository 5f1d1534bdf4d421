import { DataError } from '../errors/errors.ts';

/** Bytes read by range: from memory, a file or a server. */
export interface ByteSource {
  /** The number of bytes. */
  readonly size: number;
  /** The name used in messages. */
  readonly name: string;
  /** Returns `length` bytes from `offset` on; the caller has checked the bounds. */
  read(offset: number, length: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

export type WeightSource = string | URL | Uint8Array | ArrayBuffer;

/** Returns a source of bytes in memory; reads are views. */
export function memorySource(bytes: Uint8Array, name = 'the given bytes'): ByteSource {
  return {
    size: bytes.length,
    name,
    read: async (offset, length) => bytes.subarray(offset, offset + length),
    close: async () => {},
  };
}

/**
 * Opens a source: a path or `file:` URL is read on demand, an `http:` URL by `Range` requests. Throws DataError if
 * it can't be opened.
 */
export async function openSource(source: WeightSource): Promise<ByteSource> {
  if (source instanceof Uint8Array) return memorySource(source);
  if (source instanceof ArrayBuffer) return memorySource(new Uint8Array(source));
  const text = String(source);
  return /^https?:/.test(text) ? openRemote(text) : openFile(source);
}

async function openFile(path: string | URL): Promise<ByteSource> {
  const fs = globalThis.process?.getBuiltinModule?.('node:fs/promises');
  if (!fs) throw unreadable(String(path), 'a path outside of Node');
  const failed = (cause: unknown): never => {
    throw unreadable(String(path), 'a path that cannot be opened', cause);
  };
  // Called before opening, because opening a pipe waits for a writer.
  const stats = await fs.stat(path).catch(failed);
  if (!stats.isFile()) throw unreadable(String(path), 'a folder or a device');
  const handle = await fs.open(path).catch(failed);
  return {
    size: stats.size,
    name: String(path),
    read: async (offset, length) => {
      const bytes = new Uint8Array(length);
      let done = 0;
      while (done < length) {
        const { bytesRead } = await handle.read(bytes, done, length - done, offset + done);
        if (bytesRead === 0) throw unreadable(String(path), 'a file that became shorter');
        done += bytesRead;
      }
      return bytes;
    },
    close: () => handle.close(),
  };
}

async function openRemote(url: string): Promise<ByteSource> {
  const first = await ranged(url, 0, 1);
  const total = Number(/\/(\d+)$/.exec(first.headers.get('content-range') ?? '')?.[1]);
  if (first.status === 206 && Number.isSafeInteger(total)) {
    await first.body?.cancel();
    return {
      size: total,
      name: url,
      read: async (offset, length) => {
        if (length === 0) return new Uint8Array(0);
        const response = await ranged(url, offset, length);
        const bytes = new Uint8Array(await response.arrayBuffer());
        if (response.status === 206 && bytes.length === length) return bytes;
        throw unreadable(url, `${bytes.length} bytes for a range of ${length}`);
      },
      close: async () => {},
    };
  }
  // A server without range support sends the whole file, which may be empty.
  return memorySource(new Uint8Array(await first.arrayBuffer()), url);
}

async function ranged(url: string, offset: number, length: number): Promise<Response> {
  const headers = { range: `bytes=${offset}-${offset + length - 1}` };
  const response = await fetch(url, { headers }).catch((cause: unknown) => {
    throw unreadable(url, 'a URL that cannot be fetched', cause);
  });
  if (!response.ok) throw unreadable(url, `status ${response.status}`);
  return response;
}

function unreadable(name: string, given: string, cause?: unknown): DataError {
  return new DataError({
    what: `weights: ${name} cannot be read`,
    given,
    expected: 'a path, a URL or bytes of a file with weights',
    remedy: 'check the path; in a page, pass a URL or the bytes of a fetch()',
    cause,
  });
}
