import { DataError } from '../errors/errors.ts';
import { expectArguments } from '../options/expect-options.ts';
import { byteArray, text } from '../options/option-kinds.ts';
import { formatShape, type Shape, sizeOf } from '../spec/shape.ts';

/** The contents of an idx file of bytes, the format of MNIST and similar data sets. */
export interface IdxArray {
  readonly shape: Shape;
  /** Row-major view of the file's bytes. */
  readonly data: Uint8Array;
}

/** The magic number's third byte for unsigned byte elements. */
const unsignedByte = 0x08;

/**
 * Parses an idx file: two zero bytes, the element type, the rank, the dimensions (32 bits each, big-endian), the
 * elements. `path` is for messages. Throws DataError if the format or the file size is wrong. Never allocates memory
 * whose size is read from the file.
 */
export function parseIdx(bytes: Uint8Array, path: string): IdxArray {
  expectArguments('parseIdx', { bytes, path }, { bytes: byteArray, path: text });
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    throw new DataError({
      what: `${path} is compressed`,
      given: 'a gzip file',
      expected: 'an uncompressed idx file',
      remedy: `gunzip ${path}`,
    });
  }
  const [zero0, zero1, type, rank = 0] = bytes;
  if (bytes.length < 4 || zero0 !== 0 || zero1 !== 0 || type !== unsignedByte) {
    throw new DataError({
      what: `${path} is not an idx file of bytes`,
      given: `${bytes.length} bytes that start with ${hex(bytes.subarray(0, 4))}`,
      expected: 'the magic number 00 00 08 and the number of dimensions',
      remedy: 'check the path, or download the file again',
    });
  }
  const headerBytes = 4 + 4 * rank;
  if (bytes.length < headerBytes) throw wrongSize(path, bytes, `a header of ${headerBytes} bytes`);
  const header = new DataView(bytes.buffer, bytes.byteOffset, headerBytes);
  const shape = Array.from({ length: rank }, (_, i) => header.getUint32(4 + 4 * i));
  const expected = headerBytes + sizeOf(shape);
  if (bytes.length !== expected) {
    throw wrongSize(path, bytes, `${expected} bytes for shape ${formatShape(shape)}`);
  }
  return { shape, data: bytes.subarray(headerBytes) };
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ') || 'nothing';
}

function wrongSize(path: string, bytes: Uint8Array, expected: string): DataError {
  return new DataError({
    what: `${path} is damaged: its size doesn't fit its header`,
    given: `${bytes.length} bytes`,
    expected,
    remedy: 'download the file again',
  });
}
