import { badWeights, shown } from './bad-file.ts';
import { type ElementType, elementTypes } from './element-type.ts';
import { PickleGlobal, PickleTuple, type PickleWorld } from './pickle.ts';
import { countElements, type StoredTensor } from './weight.ts';

/** Memory that tensors of the file share; the offset of its bytes is known once the file has been read. */
interface TorchStorage {
  readonly key: string;
  readonly type: ElementType;
  readonly elements: number;
  read: ((offset: number, length: number) => Promise<Uint8Array>) | null;
}

const format = 'PyTorch';

const storageTypes: Readonly<Record<string, ElementType>> = {
  BoolStorage: 'BOOL',
  ByteStorage: 'U8',
  CharStorage: 'I8',
  ShortStorage: 'I16',
  IntStorage: 'I32',
  LongStorage: 'I64',
  HalfStorage: 'F16',
  BFloat16Storage: 'BF16',
  FloatStorage: 'F32',
  DoubleStorage: 'F64',
};

const builders = [
  'collections.OrderedDict',
  'torch.Size',
  'torch._utils._rebuild_parameter',
  'torch._utils._rebuild_tensor',
  'torch._utils._rebuild_tensor_v2',
];

/** The objects in pickles of state dictionaries: tensors and their storages, collected by key. */
export class TorchWorld implements PickleWorld {
  readonly storages = new Map<string, TorchStorage>();

  isAllowed(name: string): boolean {
    return builders.includes(name) || storageTypeOf(name) !== undefined;
  }

  call(name: string, args: readonly unknown[]): unknown {
    switch (name) {
      case 'collections.OrderedDict':
        return this.#orderedDict(args);
      case 'torch.Size':
        return args[0] instanceof PickleTuple ? args[0] : bad(name, 'no sizes', 'sizes');
      case 'torch._utils._rebuild_tensor':
      case 'torch._utils._rebuild_tensor_v2':
        return tensorOf(args);
      case 'torch._utils._rebuild_parameter':
        return isStored(args[0]) ? args[0] : bad(name, 'no tensor', 'a tensor');
      default:
        return bad('a call', name, 'a tensor or a container');
    }
  }

  /** `('storage', FloatStorage, key, device, elements)`; old files have a sixth item, for views. */
  persistent(id: unknown): TorchStorage {
    const parts = id instanceof PickleTuple ? id.items : [];
    const [kind, type, key, , elements, view] = parts;
    const name = type instanceof PickleGlobal ? storageTypeOf(type.name) : undefined;
    if (kind !== 'storage' || !name || typeof key !== 'string' || !isSize(elements)) {
      return bad('a persistent id', shown(kind), "('storage', type, key, device, elements)");
    }
    if (view !== undefined && view !== null) return bad('a storage', 'a view', 'a whole storage');
    const known = this.storages.get(key);
    if (!known) {
      const storage: TorchStorage = { key, type: name, elements, read: null };
      this.storages.set(key, storage);
      return storage;
    }
    if (known.type === name && known.elements === elements) return known;
    return bad(`storage ${shown(key)}`, `${name} and ${known.type}`, 'the same everywhere');
  }

  #orderedDict(args: readonly unknown[]): Map<unknown, unknown> {
    const dict = new Map<unknown, unknown>();
    const [pairs] = args;
    if (pairs === undefined) return dict;
    if (!Array.isArray(pairs)) return bad('OrderedDict', 'no list', 'a list of pairs');
    for (const pair of pairs) {
      const items: unknown = pair instanceof PickleTuple ? pair.items : pair;
      if (!Array.isArray(items) || items.length !== 2) bad('OrderedDict', 'no pair', 'pairs');
      else dict.set(items[0], items[1]);
    }
    return dict;
  }
}

/** A tensor of the file as a pickled value. */
export class TorchTensor implements StoredTensor {
  readonly type: ElementType;
  readonly shape: readonly number[];
  readonly layout: { readonly strides: readonly number[]; readonly offset: number };
  readonly littleEndian = true;
  readonly bytes: number;
  readonly #storage: TorchStorage;

  constructor(storage: TorchStorage, shape: readonly number[], strides: number[], offset: number) {
    this.#storage = storage;
    this.type = storage.type;
    this.shape = shape;
    this.layout = { strides, offset };
    this.bytes = storage.elements * elementTypes[storage.type].bytes;
  }

  readonly read = async (offset: number, length: number): Promise<Uint8Array> => {
    const { read, key } = this.#storage;
    return read ? read(offset, length) : bad(`storage ${shown(key)}`, 'no data', 'its data');
  };
}

const isStored = (value: unknown): value is TorchTensor => value instanceof TorchTensor;

/** `(storage, offset, sizes, strides, …)`. The tensor must lie inside its storage and not be larger. */
function tensorOf([storage, offset, sizes, strides]: readonly unknown[]): TorchTensor {
  const shape = sizesOf(sizes);
  const steps = sizesOf(strides);
  const isStorage = typeof storage === 'object' && storage !== null && 'elements' in storage;
  if (!isStorage || !isSize(offset) || !shape || !steps || steps.length !== shape.length) {
    return bad('a tensor', 'parts of another kind', 'a storage, an offset, sizes and strides');
  }
  const torchStorage = storage as TorchStorage;
  const count = countElements(format, `storage ${shown(torchStorage.key)}`, shape);
  const last = shape.reduce((sum, size, d) => sum + Math.max(size - 1, 0) * steps[d]!, offset);
  if (count > 0 && !(last < torchStorage.elements && count <= torchStorage.elements)) {
    const given = `[${shape}] with strides [${steps}] from ${offset}`;
    return bad(
      `storage ${shown(torchStorage.key)}`,
      given,
      `a tensor in its ${torchStorage.elements} elements`,
    );
  }
  return new TorchTensor(torchStorage, shape, steps, offset);
}

function sizesOf(value: unknown): number[] | null {
  const items: unknown = value instanceof PickleTuple ? value.items : value;
  return Array.isArray(items) && items.every(isSize) ? items : null;
}

function isSize(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function storageTypeOf(name: string): ElementType | undefined {
  const typeName = /^torch\.(\w+)$/.exec(name)?.[1] ?? '';
  return Object.hasOwn(storageTypes, typeName) ? storageTypes[typeName] : undefined;
}

function bad(where: string, given: string, expected: string): never {
  throw badWeights(format, where, given, expected);
}
