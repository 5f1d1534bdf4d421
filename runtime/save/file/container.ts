import { ArgumentError, DataError } from '../../errors/errors.ts';
import { crc32 } from './crc32.ts';
import { badFile, Field } from './field.ts';
import { isNestedDeeper } from './nesting.ts';

/**
 * The file:
 *
 *   file   = magic version checksum headerBytes header data
 *   magic  = the 8 letters "tostatic"
 *   version, checksum: 32 bits each; headerBytes: 64 bits; all little-endian
 *   header = JSON in UTF-8, nested at most 1,000 deep, padded with blanks so that data begins at a multiple
 *            of 64 bytes
 *   data   = the bytes of tensors, each at a multiple of 64 bytes
 *
 * The checksum (CRC-32) is that of everything after it.
 */
const magic = 'tostatic';
const version = 2;
const fixedBytes = 24;
const alignment = 64;
/** The nesting limit of the header, whose readers are recursive. */
const maxNesting = 1000;

const aligned = (bytes: number) => Math.ceil(bytes / alignment) * alignment;

/** Collects the bytes of tensors and assigns their offsets in the data. */
export class DataWriter {
  readonly #parts: { readonly offset: number; readonly bytes: Uint8Array }[] = [];
  #end = 0;

  /** Returns the offset from the start of the data. */
  add(bytes: Uint8Array): number {
    const offset = this.#end;
    this.#parts.push({ offset, bytes });
    this.#end = aligned(offset + bytes.length);
    return offset;
  }

  /** Throws ArgumentError for a header that no reader would accept. */
  file(header: unknown): Uint8Array {
    const text = new TextEncoder().encode(JSON.stringify(header));
    if (isNestedDeeper(text, maxNesting)) throw tooDeep();
    const begin = aligned(fixedBytes + text.length);
    const last = this.#parts.at(-1);
    const file = new Uint8Array(begin + (last ? last.offset + last.bytes.length : 0));
    file.set(new TextEncoder().encode(magic));
    file.fill(0x20, fixedBytes + text.length, begin);
    file.set(text, fixedBytes);
    for (const { offset, bytes } of this.#parts) file.set(bytes, begin + offset);
    const view = new DataView(file.buffer);
    view.setUint32(8, version, true);
    view.setBigUint64(16, BigInt(begin - fixedBytes), true);
    view.setUint32(12, crc32(file.subarray(16)), true);
    return file;
  }
}

interface ParsedFile {
  readonly header: Field;
  /** A view of the file. */
  readonly data: Uint8Array;
}

/** Throws DataError unless the bytes are a complete file of a known version. Copies nothing. */
export function parseFile(bytes: Uint8Array): ParsedFile {
  const text = (from: number, to: number) => new TextDecoder().decode(bytes.subarray(from, to));
  if (bytes.length < fixedBytes || text(0, 8) !== magic) {
    throw new DataError({
      what: 'load: not a tostatic file',
      given: `${bytes.length} bytes that don't begin with "${magic}"`,
      expected: 'a file that save() has made',
      remedy: 'check the path',
    });
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const found = view.getUint32(8, true);
  if (found !== version) {
    throw new DataError({
      what: 'load: the file has another version',
      given: `version ${found}`,
      expected: `version ${version}`,
      remedy: 'load it with the version of tostatic that saved it, or save it again',
    });
  }
  const headerBytes = view.getBigUint64(16, true);
  const begin = fixedBytes + Number(headerBytes);
  if (headerBytes > BigInt(bytes.length) || begin > bytes.length || begin % alignment !== 0) {
    throw badFile('the header', `${headerBytes} bytes in a file of ${bytes.length}`, 'no more');
  }
  if (crc32(bytes.subarray(16)) !== view.getUint32(12, true)) {
    throw badFile('the checksum', 'another sum of the bytes', 'the sum that was saved with them');
  }
  return {
    header: new Field(parseHeader(bytes.subarray(fixedBytes, begin)), 'file'),
    data: bytes.subarray(begin),
  };
}

function tooDeep(): ArgumentError {
  return new ArgumentError({
    what: 'save: the value or program is nested too deeply',
    given: `more than ${maxNesting} levels`,
    expected: `at most ${maxNesting} levels in a file`,
    remedy: 'save its parts in files of their own, or compute with fewer nested expressions',
  });
}

function parseHeader(bytes: Uint8Array): unknown {
  if (isNestedDeeper(bytes, maxNesting)) {
    throw badFile('the header', `more than ${maxNesting} nested levels`, 'no more');
  }
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw badFile('the header', reason, 'JSON in UTF-8');
  }
}
