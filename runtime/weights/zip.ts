import { DataError } from '../errors/errors.ts';
import { badWeights, shown } from './bad-file.ts';
import { type ByteSource, memorySource } from './byte-source.ts';

/** A file inside an archive. */
export interface ZipEntry {
  readonly name: string;
  /** The size of the uncompressed file. */
  readonly size: number;
  /** Opens the contents: part of the archive if stored uncompressed, else the inflated bytes, computed once. */
  open(): Promise<ByteSource>;
  /** Returns at most the first `length` bytes, without inflating the rest. */
  start(length: number): Promise<Uint8Array>;
}

const format = 'zip';
/** The maximum compression ratio of deflate. */
const maxRatio = 1032;
const maxEntries = 1_000_000;
const endBytes = 22;

/**
 * Reads the directory of an archive. Throws DataError for overlapping entries, for entries that claim more than
 * they can inflate to, and for encrypted ones, so the memory needed is bounded by the archive's size.
 */
export async function readZip(source: ByteSource): Promise<ReadonlyMap<string, ZipEntry>> {
  const { count, at, bytes } = await findDirectory(source);
  const view = viewOf(await source.read(at, bytes));
  const entries = new Map<string, ZipEntry>();
  const regions: { readonly begin: number; readonly end: number }[] = [];
  let position = 0;
  for (let i = 0; i < count; i++) {
    const { header, next } = readHeader(view, position);
    position = next;
    if (header.name.endsWith('/')) continue;
    if (entries.has(header.name)) throw bad(shown(header.name), 'two entries', 'one');
    const begin = await dataBegin(source, header, at);
    regions.push({ begin: header.local, end: begin + header.packed });
    entries.set(header.name, entryOf(source, header, begin));
  }
  regions.sort((a, b) => a.begin - b.begin);
  for (const [i, { begin }] of regions.entries()) {
    if (i > 0 && begin < regions[i - 1]!.end) {
      throw bad('the directory', 'entries that overlap', 'entries one after another');
    }
  }
  return entries;
}

interface Header {
  readonly name: string;
  readonly method: number;
  readonly packed: number;
  readonly size: number;
  /** The offset of its local header. */
  readonly local: number;
}

function entryOf(source: ByteSource, { name, method, packed, size }: Header, begin: number) {
  const raw: ByteSource = {
    size: packed,
    name: `${source.name}/${name}`,
    read: (offset, length) => source.read(begin + offset, length),
    close: async () => {},
  };
  if (method === 0) {
    const start = (length: number) => raw.read(0, Math.min(length, size));
    return { name, size, open: async () => raw, start };
  }
  const inflate = async (length: number) => inflated(await raw.read(0, packed), length, size, name);
  return {
    name,
    size,
    open: async () => memorySource(await inflate(size), raw.name),
    start: (length: number) => inflate(Math.min(length, size)),
  };
}

/** Returns the first `length` bytes; if that is all of them, there must be exactly `size`. */
async function inflated(
  packed: Uint8Array,
  length: number,
  size: number,
  name: string,
): Promise<Uint8Array> {
  const result = new Uint8Array(length);
  const blob = new Blob([packed as Uint8Array<ArrayBuffer>]);
  const reader = blob.stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader();
  let done = 0;
  try {
    while (done < length || length === size) {
      const { value, done: atEnd } = await reader.read();
      if (atEnd) break;
      if (done + value.length > size) throw bad(shown(name), 'more bytes', `${size} bytes`);
      result.set(value.subarray(0, length - done), done);
      done += value.length;
    }
  } catch (cause) {
    if (cause instanceof DataError) throw cause;
    // Engines throw unrelated error classes for invalid deflated data.
    throw bad(shown(name), 'data that cannot be inflated', 'deflated data');
  } finally {
    await reader.cancel().catch(() => {});
  }
  if (done < length) throw bad(shown(name), `${done} bytes`, `${size} bytes`);
  return result;
}

async function findDirectory(source: ByteSource) {
  const length = Math.min(source.size, endBytes + 0xffff);
  const tail = await source.read(source.size - length, length);
  const view = viewOf(tail);
  let at = length - endBytes;
  while (at >= 0 && view.getUint32(at, true) !== 0x06054b50) at--;
  if (at < 0) throw bad('its end', 'no directory', 'the end of a directory');
  let directory = {
    count: view.getUint16(at + 10, true),
    bytes: view.getUint32(at + 12, true),
    at: view.getUint32(at + 16, true),
  };
  if (directory.count === 0xffff || directory.at === 0xffffffff) {
    const end = source.size - length + at;
    if (end >= 20) {
      const locator = viewOf(await source.read(end - 20, 20));
      if (locator.getUint32(0, true) === 0x07064b50) {
        directory = await largeDirectory(source, safeNumber(locator, 8));
      }
    }
  }
  if (directory.at + directory.bytes > source.size || directory.count > maxEntries) {
    throw bad('the directory', `${directory.bytes} bytes at ${directory.at}`, 'a part of the file');
  }
  return directory;
}

async function largeDirectory(source: ByteSource, at: number) {
  if (at + 56 > source.size) throw bad('the directory', `its end at ${at}`, 'a part of the file');
  const view = viewOf(await source.read(at, 56));
  if (view.getUint32(0, true) !== 0x06064b50) throw bad('the directory', 'no end', 'its end');
  return { count: safeNumber(view, 32), bytes: safeNumber(view, 40), at: safeNumber(view, 48) };
}

function readHeader(view: DataView, at: number): { header: Header; next: number } {
  if (at + 46 > view.byteLength || view.getUint32(at, true) !== 0x02014b50) {
    throw bad('the directory', 'no entry', 'as many entries as it counts');
  }
  const [flags, method] = [view.getUint16(at + 8, true), view.getUint16(at + 10, true)];
  const [nameBytes, extraBytes] = [view.getUint16(at + 28, true), view.getUint16(at + 30, true)];
  const next = at + 46 + nameBytes + extraBytes + view.getUint16(at + 32, true);
  if (next > view.byteLength) throw bad('the directory', 'an entry that is cut off', 'all of it');
  const name = new TextDecoder().decode(
    new Uint8Array(view.buffer, view.byteOffset + at + 46, nameBytes),
  );
  if (flags & 1) throw bad(shown(name), 'encrypted data', 'data that is not encrypted');
  if (method !== 0 && method !== 8) {
    throw bad(shown(name), `compression ${method}`, '0 (stored) or 8 (deflated)');
  }
  let [packed, size] = [view.getUint32(at + 20, true), view.getUint32(at + 24, true)];
  let local = view.getUint32(at + 42, true);
  // Sizes beyond 32 bits, and only these, are in an extra field, in this order.
  const end = at + 46 + nameBytes + extraBytes;
  for (let field = at + 46 + nameBytes; field + 4 <= end; ) {
    const [id, length] = [view.getUint16(field, true), view.getUint16(field + 2, true)];
    if (field + 4 + length > end) break;
    if (id === 1) {
      let value = field + 4;
      const large = (small: number): number => {
        if (small !== 0xffffffff || value + 8 > field + 4 + length) return small;
        value += 8;
        return safeNumber(view, value - 8);
      };
      size = large(size);
      packed = large(packed);
      local = large(local);
    }
    field += 4 + length;
  }
  if (method === 0 ? packed !== size : size > packed * maxRatio) {
    throw bad(shown(name), `${size} bytes of ${packed}`, 'a size that its data can expand to');
  }
  return { header: { name, method, packed, size, local }, next };
}

/** Returns the offset after the local header, whose name and extra fields may be longer than the directory's. */
async function dataBegin(source: ByteSource, header: Header, directory: number): Promise<number> {
  const { local, packed, name } = header;
  if (local + 30 > directory) throw bad(shown(name), `data at ${local}`, 'a part of the file');
  const view = viewOf(await source.read(local, 30));
  if (view.getUint32(0, true) !== 0x04034b50) throw bad(shown(name), 'no header', 'its header');
  const begin = local + 30 + view.getUint16(26, true) + view.getUint16(28, true);
  if (begin + packed > directory) {
    throw bad(shown(name), `${packed} bytes at ${begin}`, 'data before the directory');
  }
  return begin;
}

function safeNumber(view: DataView, at: number): number {
  const value = view.getBigUint64(at, true);
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw bad('a size', String(value), 'below 2^53');
  return Number(value);
}

const viewOf = ({ buffer, byteOffset, length }: Uint8Array) =>
  new DataView(buffer, byteOffset, length);

function bad(where: string, given: string, expected: string) {
  return badWeights(format, where, given, expected);
}
