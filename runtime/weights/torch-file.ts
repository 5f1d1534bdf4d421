import { badWeights, shown } from './bad-file.ts';
import type { ByteSource } from './byte-source.ts';
import { elementTypes } from './element-type.ts';
import { PickleTuple, unpickle } from './pickle.ts';
import { TorchTensor, TorchWorld } from './torch-values.ts';
import type { StoredTensor } from './weight.ts';
import { readZip } from './zip.ts';

const format = 'PyTorch';
/** A limit for pickles of names and shapes, which are small because data is stored outside them. */
const maxPickleBytes = 256 * 2 ** 20;
const maxLevels = 100;

/**
 * Reads the tensors of a `torch.save` file, by path: the tensor in `{'model': {'weight': …}}` is `model.weight`.
 * Supports the archive format of PyTorch 1.6 and later and the legacy sequence of pickles.
 */
export async function readTorch(source: ByteSource): Promise<ReadonlyMap<string, StoredTensor>> {
  const start = await source.read(0, Math.min(source.size, 4));
  return start[0] === 0x50 && start[1] === 0x4b ? readArchive(source) : readLegacy(source);
}

async function readArchive(source: ByteSource): Promise<ReadonlyMap<string, StoredTensor>> {
  const entries = await readZip(source);
  const main = [...entries.values()].find(({ name }) => /^[^/]+\/data\.pkl$/.test(name));
  if (!main) throw bad('the archive', 'no data.pkl', 'an archive of torch.save');
  const folder = main.name.slice(0, -'data.pkl'.length);
  const order = entries.get(`${folder}byteorder`);
  if (order && new TextDecoder().decode(await order.start(8)) !== 'little') {
    throw bad('byteorder', 'another order', 'little');
  }
  const world = new TorchWorld();
  const { value } = unpickle(await whole(await main.open()), world);
  for (const storage of world.storages.values()) {
    const entry = entries.get(`${folder}data/${storage.key}`);
    const bytes = storage.elements * elementTypes[storage.type].bytes;
    if (!entry || entry.size < bytes) {
      throw bad(`storage ${shown(storage.key)}`, `${entry?.size ?? 0} bytes`, `${bytes} bytes`);
    }
    storage.read = async (offset, length) => (await entry.open()).read(offset, length);
  }
  return flattened(value, main.size);
}

/** Reads four pickles (a magic number, a version, the machine, the value), the keys, then the storages. */
async function readLegacy(source: ByteSource): Promise<ReadonlyMap<string, StoredTensor>> {
  const length = Math.min(source.size, maxPickleBytes);
  const bytes = await source.read(0, length);
  const world = new TorchWorld();
  const magic = unpickle(bytes, world);
  if (magic.value !== 0x1950a86a20f9469cfc6cn) throw bad('the beginning', 'no magic number', 'it');
  const version = unpickle(bytes, world, magic.end);
  if (version.value !== 1001) throw bad('the version', shown(version.value), '1001');
  const machine = unpickle(bytes, world, version.end);
  if (!(machine.value instanceof Map) || machine.value.get('little_endian') !== true) {
    throw bad('the machine', 'another order of bytes', 'little-endian');
  }
  const main = unpickle(bytes, world, machine.end);
  const keys = unpickle(bytes, world, main.end);
  if (!Array.isArray(keys.value)) throw bad('the keys', 'no list', 'a list');
  let at = keys.end;
  for (const key of keys.value as unknown[]) {
    const storage = world.storages.get(String(key));
    if (!storage || storage.read) throw bad('the keys', shown(key), 'keys of its storages, once');
    if (at + 8 > source.size) throw bad('the data', 'its end', `storage ${shown(key)}`);
    const count = await source.read(at, 8);
    const elements = new DataView(count.buffer, count.byteOffset, 8).getBigInt64(0, true);
    const size = storage.elements * elementTypes[storage.type].bytes;
    if (elements !== BigInt(storage.elements) || at + 8 + size > source.size) {
      throw bad(
        `storage ${shown(key)}`,
        `${elements} elements`,
        `${storage.elements}, in the file`,
      );
    }
    const begin = at + 8;
    storage.read = (offset, length) => source.read(begin + offset, length);
    at = begin + size;
  }
  return flattened(main.value, main.end);
}

async function whole(source: ByteSource): Promise<Uint8Array> {
  if (source.size > maxPickleBytes) {
    throw bad('data.pkl', `${source.size} bytes`, `at most ${maxPickleBytes}`);
  }
  return source.read(0, source.size);
}

/**
 * Returns tensors by path. Visits a value shared by several containers in each of them, but limits visits to the
 * pickle's number of bytes, which only malicious files exceed.
 */
function flattened(value: unknown, bytes: number): ReadonlyMap<string, StoredTensor> {
  const found = new Map<string, StoredTensor>();
  let visits = 0;
  const visit = (item: unknown, path: readonly string[]): void => {
    if (++visits > bytes) throw bad('the value', 'containers that share their parts', 'fewer');
    if (path.length > maxLevels) throw bad('the value', `more than ${maxLevels} levels`, 'fewer');
    if (item instanceof TorchTensor) {
      const name = path.join('.');
      if (found.has(name)) throw bad(`tensor ${shown(name)}`, 'two of this name', 'one');
      found.set(name, item);
    } else if (item instanceof Map) {
      for (const [key, inner] of item) visit(inner, [...path, String(key)]);
    } else if (Array.isArray(item) || item instanceof PickleTuple) {
      const items: readonly unknown[] = Array.isArray(item) ? item : item.items;
      items.forEach((inner, i) => {
        visit(inner, [...path, String(i)]);
      });
    }
  };
  visit(value, []);
  return found;
}

function bad(where: string, given: string, expected: string) {
  return badWeights(format, where, given, expected);
}
