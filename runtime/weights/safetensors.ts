import { isNestedDeeper } from '../save/file/nesting.ts';
import { badWeights, shown } from './bad-file.ts';
import type { ByteSource } from './byte-source.ts';
import { type ElementType, elementTypes } from './element-type.ts';
import { countElements, rangeOf, type StoredTensor } from './weight.ts';

/**
 * The file: the header's length (64 bits, little-endian), the header (JSON), the data. Each entry of the header is
 * `{"dtype": "F32", "shape": […], "data_offsets": [begin, end]}`; `__metadata__` contains strings.
 */
interface SafetensorsFile {
  readonly tensors: ReadonlyMap<string, StoredTensor>;
  readonly metadata: ReadonlyMap<string, string>;
}

const format = 'safetensors';
const maxHeaderBytes = 100_000_000;

interface Entry {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: readonly number[];
  readonly begin: number;
  readonly end: number;
}

/** Reads only the header. Throws DataError unless the entries cover the data exactly, without overlap. */
export async function readSafetensors(source: ByteSource): Promise<SafetensorsFile> {
  if (source.size < 8)
    throw badWeights(format, 'the beginning', `${source.size} bytes`, '8 or more');
  const start = await source.read(0, 8);
  const length = new DataView(start.buffer, start.byteOffset, 8).getBigUint64(0, true);
  if (length > BigInt(Math.min(source.size - 8, maxHeaderBytes))) {
    const expected = `at most ${maxHeaderBytes}, in a file of ${source.size} bytes`;
    throw badWeights(format, 'the length of the header', String(length), expected);
  }
  const begin = 8 + Number(length);
  const header = parseHeader(await source.read(8, begin - 8));
  const metadata = new Map<string, string>();
  const entries: Entry[] = [];
  for (const [name, value] of header) {
    if (name === '__metadata__') readMetadata(value, metadata);
    else entries.push(readEntry(name, value));
  }
  expectCovered(entries, source.size - begin);
  const tensors = entries.map((entry) => {
    return [entry.name, rangeOf(source, begin + entry.begin, entry.type, entry.shape)] as const;
  });
  return { tensors: new Map(tensors), metadata };
}

/** Parses the entries in order; names may be any text, including `__proto__`. */
function parseHeader(bytes: Uint8Array): [name: string, value: unknown][] {
  if (bytes[0] !== 0x7b || isNestedDeeper(bytes, 8)) {
    throw badWeights(format, 'the header', 'not a JSON object', 'an object of entries');
  }
  let text: string;
  let parsed: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    parsed = JSON.parse(text);
  } catch (cause) {
    throw badWeights(format, 'the header', shown(cause), 'JSON in UTF-8', cause);
  }
  if (!isObject(parsed)) throw badWeights(format, 'the header', typeof parsed, 'an object');
  return Object.entries(parsed);
}

function readMetadata(value: unknown, metadata: Map<string, string>): void {
  if (!isObject(value))
    throw badWeights(format, '__metadata__', shown(value), 'an object of texts');
  for (const [key, text] of Object.entries(value)) {
    if (typeof text !== 'string') throw badWeights(format, '__metadata__', shown(text), 'a text');
    metadata.set(key, text);
  }
}

function readEntry(name: string, value: unknown): Entry {
  const where = `tensor ${shown(name)}`;
  const field = (key: string): unknown =>
    isObject(value) && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
  const [type, shape, offsets] = [field('dtype'), field('shape'), field('data_offsets')];
  if (!isElementType(type)) {
    const known = Object.keys(elementTypes).join(', ');
    throw badWeights(format, `${where}, dtype`, shown(type), `one of ${known}`);
  }
  if (!isSizes(shape)) throw badWeights(format, `${where}, shape`, shown(shape), 'whole numbers');
  if (!isSizes(offsets) || offsets.length !== 2) {
    throw badWeights(format, `${where}, data_offsets`, shown(offsets), 'begin and end');
  }
  const [begin, end] = offsets as [number, number];
  const bytes = countElements(format, where, shape) * elementTypes[type].bytes;
  if (end - begin !== bytes) {
    const expected = `${bytes}, for ${type} [${shape}]`;
    throw badWeights(format, `${where}, data_offsets`, `${end - begin} bytes`, expected);
  }
  return { name, type, shape, begin, end };
}

function expectCovered(entries: readonly Entry[], bytes: number): void {
  const sorted = [...entries].sort((a, b) => a.begin - b.begin || a.end - b.end);
  let end = 0;
  for (const entry of sorted) {
    if (entry.begin !== end) {
      const given = `data from ${entry.begin} on`;
      throw badWeights(format, `tensor ${shown(entry.name)}`, given, `data from ${end} on`);
    }
    end = entry.end;
  }
  if (end !== bytes) throw badWeights(format, 'the data', `${bytes} bytes`, `${end} bytes`);
}

function isElementType(value: unknown): value is ElementType {
  return typeof value === 'string' && Object.hasOwn(elementTypes, value);
}

function isSizes(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
