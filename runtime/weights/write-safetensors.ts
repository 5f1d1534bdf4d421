import { ArgumentError } from '../errors/errors.ts';
import type { StateDict } from '../nn/module/module-state.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { count, that } from '../options/option-kinds.ts';
import { writeBytes } from '../save/file/files.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { elementTypeOf, elementTypes } from './element-type.ts';
import { bytesOf, type Pieces, tensorsByName, writePieces } from './writer.ts';

export interface SaveWeightsOptions {
  /** Strings stored in the file besides the tensors. */
  readonly metadata?: Readonly<Record<string, string>>;
  /**
   * Splits the state into files of at most this many bytes, `model-00001-of-00003.safetensors` …, and writes an
   * index next to them; the path is then the index's, `….safetensors.index.json`.
   */
  readonly maxShardBytes?: number;
}

const saveKinds: OptionKinds<SaveWeightsOptions> = {
  metadata: that(
    'an object of strings',
    (value) =>
      typeof value === 'object' &&
      value !== null &&
      Object.values(value).every((each) => typeof each === 'string'),
  ),
  maxShardBytes: count(1),
};

/**
 * Writes tensors by name as safetensors, one after another, with only one in memory at a time. Returns the bytes
 * if no path is given. Throws ArgumentError for the name `__metadata__`.
 */
export async function saveSafetensors(state: StateDict): Promise<Uint8Array>;
export async function saveSafetensors(
  state: StateDict,
  path: undefined,
  options?: SaveWeightsOptions,
): Promise<Uint8Array>;
export async function saveSafetensors(
  state: StateDict,
  path: string | URL,
  options?: SaveWeightsOptions,
): Promise<null>;
export async function saveSafetensors(
  state: StateDict,
  path?: string | URL,
  options: SaveWeightsOptions = {},
): Promise<Uint8Array | null> {
  expectOptions('saveSafetensors', options, saveKinds);
  const { metadata = {}, maxShardBytes } = options;
  const tensors = tensorsByName('saveSafetensors', state);
  if (maxShardBytes === undefined) return writePieces(path, fileOf(tensors, metadata));
  if (path === undefined || !String(path).endsWith('.safetensors.index.json')) {
    throw new ArgumentError({
      what: 'saveSafetensors: files in pieces have an index beside them',
      given: String(path),
      expected: 'a path that ends in .safetensors.index.json',
      remedy: 'name the index, such as model.safetensors.index.json',
    });
  }
  const shards = shardsOf(tensors, maxShardBytes);
  const stem = String(path).slice(0, -'.safetensors.index.json'.length);
  const map: [string, string][] = [];
  for (const [i, shard] of shards.entries()) {
    const number = (value: number) => String(value).padStart(5, '0');
    const file = `${stem}-${number(i + 1)}-of-${number(shards.length)}.safetensors`;
    await writePieces(path instanceof URL ? new URL(file) : file, fileOf(shard, metadata));
    const short = file.slice(Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\')) + 1);
    for (const [name] of shard) map.push([name, short]);
  }
  const total = tensors.reduce((sum, [, tensor]) => sum + bytesIn(tensor), 0);
  const index = { metadata: { total_size: total }, weight_map: Object.fromEntries(map) };
  await writeBytes(path, new TextEncoder().encode(`${JSON.stringify(index, null, 2)}\n`));
  return null;
}

type Named = readonly [name: string, tensor: Tensor];

const bytesIn = (tensor: Tensor) =>
  tensor.numel() * elementTypes[elementTypeOf(tensor.dtype)].bytes;

/** Groups tensors into shards in order; a tensor larger than the limit gets its own file. */
function shardsOf(tensors: readonly Named[], maxBytes: number): Named[][] {
  const shards: Named[][] = [[]];
  let bytes = 0;
  for (const named of tensors) {
    const size = bytesIn(named[1]);
    if (bytes > 0 && bytes + size > maxBytes) {
      shards.push([]);
      bytes = 0;
    }
    shards.at(-1)!.push(named);
    bytes += size;
  }
  return shards;
}

function fileOf(tensors: readonly Named[], metadata: Readonly<Record<string, string>>): Pieces {
  // Larger element types first, so that each tensor is aligned to its element size.
  const elementBytes = ({ dtype }: Tensor) => elementTypes[elementTypeOf(dtype)].bytes;
  const sorted = [...tensors].sort(([, a], [, b]) => elementBytes(b) - elementBytes(a));
  const header: [string, unknown][] = [];
  if (Object.keys(metadata).length > 0) header.push(['__metadata__', metadata]);
  let end = 0;
  for (const [name, tensor] of sorted) {
    if (name === '__metadata__') throw reserved();
    const begin = end;
    end += bytesIn(tensor);
    const { dtype, shape } = tensor;
    header.push([name, { dtype: elementTypeOf(dtype), shape, data_offsets: [begin, end] }]);
  }
  // Assembled by hand: an object would lose `__proto__` and sort numeric names.
  const json = header.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  const text = new TextEncoder().encode(`{${json.join(',')}}`);
  const padded = Math.ceil(text.length / 8) * 8;
  const start = new Uint8Array(8 + padded).fill(0x20);
  new DataView(start.buffer).setBigUint64(0, BigInt(padded), true);
  start.set(text, 8);
  return {
    bytes: start.length + end,
    async *parts() {
      yield start;
      for (const [, tensor] of sorted) yield bytesOf(await tensor.data());
    },
  };
}

function reserved(): ArgumentError {
  return new ArgumentError({
    what: 'saveSafetensors: a name that the format keeps for itself',
    given: '__metadata__',
    expected: 'another name',
    remedy: 'rename the tensor',
  });
}
