import { badWeights, shown } from './bad-file.ts';
import type { ByteSource } from './byte-source.ts';
import { type ElementType, elementTypes } from './element-type.ts';
import { countElements, rangeOf, type StoredTensor } from './weight.ts';
import { readZip, type ZipEntry } from './zip.ts';

const format = 'npy';
/** NumPy's own limit for headers. */
const maxHeaderBytes = 10_000;

const kinds: Readonly<Record<string, ElementType>> = {
  b1: 'BOOL',
  u1: 'U8',
  i1: 'I8',
  u2: 'U16',
  i2: 'I16',
  u4: 'U32',
  i4: 'I32',
  u8: 'U64',
  i8: 'I64',
  f2: 'F16',
  f4: 'F32',
  f8: 'F64',
};

interface NpyHeader {
  readonly type: ElementType;
  readonly littleEndian: boolean;
  readonly columnMajor: boolean;
  readonly shape: readonly number[];
  /** The offset of the data. */
  readonly begin: number;
}

/** Reads a NumPy array. Throws DataError for arrays of objects, which are pickles, and of records. */
export async function readNpy(source: ByteSource): Promise<StoredTensor> {
  const start = await source.read(0, Math.min(source.size, maxHeaderBytes));
  return tensorOf(source, parseNpy(start, source.size));
}

/** Reads the arrays of an `.npz` archive; deflated arrays are inflated when they are read. */
export async function readNpz(source: ByteSource): Promise<ReadonlyMap<string, StoredTensor>> {
  const arrays = new Map<string, StoredTensor>();
  for (const entry of (await readZip(source)).values()) {
    if (!entry.name.endsWith('.npy')) {
      throw badWeights('npz', shown(entry.name), 'another kind of file', 'arrays, *.npy');
    }
    arrays.set(entry.name.slice(0, -'.npy'.length), await arrayOf(entry));
  }
  return arrays;
}

async function arrayOf(entry: ZipEntry): Promise<StoredTensor> {
  const header = parseNpy(await entry.start(maxHeaderBytes), entry.size);
  let opened: Promise<ByteSource> | null = null;
  const lazy: ByteSource = {
    size: entry.size,
    name: entry.name,
    read: async (offset, length) => {
      opened ??= entry.open();
      const bytes = await (await opened).read(offset, length);
      // Inflated data is dropped once its end was read.
      if (offset + length === entry.size) opened = null;
      return bytes;
    },
    close: async () => {},
  };
  return tensorOf(lazy, header);
}

function tensorOf(source: ByteSource, header: NpyHeader): StoredTensor {
  const { type, shape, begin, littleEndian, columnMajor } = header;
  const stored = rangeOf(source, begin, type, shape, littleEndian);
  if (!columnMajor) return stored;
  let stride = 1;
  const strides = shape.map((size) => {
    const expected = stride;
    stride *= size;
    return expected;
  });
  return { ...stored, layout: { strides, offset: 0 } };
}

function parseNpy(start: Uint8Array, size: number): NpyHeader {
  const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];
  if (start.length < 12 || magic.some((byte, i) => start[i] !== byte)) {
    throw bad('the beginning', 'not a NumPy array', '\\x93NUMPY');
  }
  const view = new DataView(start.buffer, start.byteOffset, start.length);
  const version = start[6]!;
  if (version < 1 || version > 3) throw bad('the version', String(version), '1, 2 or 3');
  const fixed = version === 1 ? 10 : 12;
  const length = version === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  const begin = fixed + length;
  if (begin > start.length) throw bad('the header', `${length} bytes`, `${start.length} at most`);
  const header = new TextDecoder().decode(start.subarray(fixed, begin));
  const { descr, fortran, shape } = parseDict(header);
  const parsed = /^([<>|=])(.\d+)$/.exec(descr);
  const type = parsed && Object.hasOwn(kinds, parsed[2]!) ? kinds[parsed[2]!] : undefined;
  if (!type) throw bad('descr', shown(descr), `numbers: ${Object.keys(kinds).join(', ')}`);
  const bytes = countElements(format, 'shape', shape) * elementTypes[type].bytes;
  if (bytes !== size - begin) throw bad('the data', `${size - begin} bytes`, `${bytes} bytes`);
  return { type, littleEndian: parsed![1] !== '>', columnMajor: fortran, shape, begin };
}

/** Parses a Python dictionary as NumPy writes it: `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`. */
function parseDict(text: string) {
  const item =
    /\s*'(descr|fortran_order|shape)'\s*:\s*(?:'([^']*)'|(True|False)|\(([\d,\s]*)\))\s*,?/y;
  const body = /^\s*\{(.*)\}\s*$/s.exec(text)?.[1];
  const found = new Map<string, RegExpExecArray>();
  if (body !== undefined) {
    const inside = body.trim();
    for (let at = 0; at < inside.length; at = item.lastIndex) {
      item.lastIndex = at;
      const match = item.exec(inside);
      if (!match || found.has(match[1]!)) throw badHeader(text);
      found.set(match[1]!, match);
    }
  }
  const [descr, fortran] = [found.get('descr')?.[2], found.get('fortran_order')?.[3]];
  const shape = found.get('shape')?.[4];
  if (descr === undefined || fortran === undefined || shape === undefined) throw badHeader(text);
  const sizes = shape.split(',').filter((size) => size.trim() !== '');
  return { descr, fortran: fortran === 'True', shape: sizes.map(Number) };
}

function badHeader(text: string) {
  return bad(
    'the header',
    shown(text),
    "{'descr': …, 'fortran_order': …, 'shape': (…)} of numbers",
  );
}

function bad(where: string, given: string, expected: string) {
  return badWeights(format, where, given, expected);
}
