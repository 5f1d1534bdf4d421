import { ArgumentError, DTypeError } from '../errors/errors.ts';
import type { StateDict } from '../nn/module/module-state.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import { crc32 } from '../save/file/crc32.ts';
import type { DType } from '../spec/dtype.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { bytesOf, tensorsByName, writePieces } from './writer.ts';

const kinds: { readonly [D in DType]: string | null } = {
  bool: '|b1',
  uint8: '|u1',
  int32: '<i4',
  float16: '<f2',
  bfloat16: null,
  float32: '<f4',
  float64: '<f8',
};

/** Writes an array for NumPy. Returns the bytes if no path is given. Throws DTypeError for bfloat16. */
export async function saveNpy(tensor: Tensor): Promise<Uint8Array>;
export async function saveNpy(tensor: Tensor, path: string | URL): Promise<null>;
export async function saveNpy(tensor: Tensor, path?: string | URL): Promise<Uint8Array | null> {
  expectTensors('saveNpy', tensor);
  const start = headerOf(tensor);
  return writePieces(path, {
    bytes: start.length + bytesIn(tensor),
    async *parts() {
      yield start;
      yield bytesOf(await tensor.data());
    },
  });
}

/** Writes tensors by name as an `.npz` archive for `numpy.load`, at most 4 GiB. */
export async function saveNpz(state: StateDict): Promise<Uint8Array>;
export async function saveNpz(state: StateDict, path: string | URL): Promise<null>;
export async function saveNpz(state: StateDict, path?: string | URL): Promise<Uint8Array | null> {
  const files = tensorsByName('saveNpz', state).map(([name, tensor]) => {
    const encoded = new TextEncoder().encode(`${name}.npy`);
    return { name: encoded, tensor, start: headerOf(tensor) };
  });
  const bytes = files.reduce(
    (sum, { name, tensor, start }) => sum + 76 + 2 * name.length + start.length + bytesIn(tensor),
    22,
  );
  if (bytes > 0xffffffff || files.length > 0xffff) throw tooLarge(bytes);
  return writePieces(path, {
    bytes,
    async *parts() {
      const directory: Uint8Array[] = [];
      let at = 0;
      for (const { name, tensor, start } of files) {
        const data = bytesOf(await tensor.data());
        const body = new Uint8Array(start.length + data.length);
        body.set(start);
        body.set(data, start.length);
        const facts = { name, crc: crc32(body), bytes: body.length, at };
        const local = localHeader(facts);
        directory.push(directoryEntry(facts));
        at += local.length + body.length;
        yield local;
        yield body;
      }
      yield* directory;
      const length = directory.reduce((sum, entry) => sum + entry.length, 0);
      yield endOfDirectory(directory.length, length, at);
    },
  });
}

const bytesIn = (tensor: Tensor) => tensor.nbytes;

function headerOf(tensor: Tensor): Uint8Array {
  tensor.holderFor('saveNpy');
  const { dtype, shape } = tensor;
  const kind = kinds[dtype];
  if (kind === null) {
    throw new DTypeError({
      what: 'saveNpy: NumPy has no such elements',
      given: dtype,
      expected: Object.keys(kinds)
        .filter((name) => kinds[name as DType] !== null)
        .join(', '),
      remedy: "cast it: x.to('float32'), or write safetensors",
    });
  }
  const sizes = shape.length === 1 ? `${shape[0]},` : shape.join(', ');
  const text = `{'descr': '${kind}', 'fortran_order': False, 'shape': (${sizes}), }`;
  const length = Math.ceil((10 + text.length + 1) / 64) * 64 - 10;
  const header = new Uint8Array(10 + length).fill(0x20);
  header.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0]);
  new DataView(header.buffer).setUint16(8, length, true);
  header.set(new TextEncoder().encode(text), 10);
  header[9 + length] = 0x0a;
  return header;
}

interface FileFacts {
  readonly name: Uint8Array;
  readonly crc: number;
  readonly bytes: number;
  readonly at: number;
}

/** Writes the fields common to both headers of an entry: version, UTF-8 names, stored, 1980-01-01. */
function commonFields(view: DataView, from: number, { name, crc, bytes }: FileFacts): void {
  view.setUint16(from, 20, true);
  view.setUint16(from + 2, 0x800, true);
  view.setUint16(from + 8, 0x21, true);
  view.setUint32(from + 10, crc, true);
  view.setUint32(from + 14, bytes, true);
  view.setUint32(from + 18, bytes, true);
  view.setUint16(from + 22, name.length, true);
}

function localHeader(facts: FileFacts): Uint8Array {
  const header = new Uint8Array(30 + facts.name.length);
  const view = new DataView(header.buffer);
  view.setUint32(0, 0x04034b50, true);
  commonFields(view, 4, facts);
  header.set(facts.name, 30);
  return header;
}

function directoryEntry(facts: FileFacts): Uint8Array {
  const entry = new Uint8Array(46 + facts.name.length);
  const view = new DataView(entry.buffer);
  view.setUint32(0, 0x02014b50, true);
  view.setUint16(4, 20, true);
  commonFields(view, 6, facts);
  view.setUint32(42, facts.at, true);
  entry.set(facts.name, 46);
  return entry;
}

function endOfDirectory(count: number, bytes: number, at: number): Uint8Array {
  const end = new Uint8Array(22);
  const view = new DataView(end.buffer);
  view.setUint32(0, 0x06054b50, true);
  view.setUint16(8, count, true);
  view.setUint16(10, count, true);
  view.setUint32(12, bytes, true);
  view.setUint32(16, at, true);
  return end;
}

function tooLarge(bytes: number): ArgumentError {
  return new ArgumentError({
    what: 'saveNpz: the archive is too large',
    given: `${bytes} bytes`,
    expected: 'at most 4 GiB and 65535 arrays',
    remedy: 'write safetensors instead',
  });
}
