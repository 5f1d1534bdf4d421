import { isNestedDeeper } from '../save/file/nesting.ts';
import { badWeights, shown } from './bad-file.ts';
import { type ByteSource, openSource } from './byte-source.ts';
import { readSafetensors } from './safetensors.ts';
import type { StoredTensor } from './weight.ts';

const format = 'safetensors index';
const maxIndexBytes = 100_000_000;

/**
 * Reads `model.safetensors.index.json`: `{"metadata": {…}, "weight_map": {name: file}}`. Files are next to the index;
 * names with folders are rejected. Follows links, because download caches consist of links.
 */
export async function readIndex(
  index: ByteSource,
  folder: string | URL,
): Promise<{ tensors: ReadonlyMap<string, StoredTensor>; close(): Promise<void> }> {
  const byFile = new Map<string, string[]>();
  for (const [name, file] of Object.entries(await weightMap(index))) {
    if (typeof file !== 'string' || !/^(?!\.)[^/\\:%?#]+$/.test(file)) {
      throw badWeights(format, `tensor ${shown(name)}`, shown(file), 'a file beside the index');
    }
    const names = byFile.get(file) ?? [];
    names.push(name);
    byFile.set(file, names);
  }
  const opened: ByteSource[] = [];
  const tensors = new Map<string, StoredTensor>();
  try {
    for (const [file, names] of byFile) {
      const path = folder instanceof URL ? new URL(file, folder) : `${folder}${file}`;
      const source = await openSource(path);
      opened.push(source);
      const shard = await readSafetensors(source);
      for (const name of names) {
        const tensor = shard.tensors.get(name);
        if (!tensor) throw badWeights(format, shown(file), `no ${shown(name)}`, 'that tensor');
        tensors.set(name, tensor);
      }
    }
  } catch (error) {
    await Promise.all(opened.map((source) => source.close()));
    throw error;
  }
  return {
    tensors,
    close: async () => void (await Promise.all(opened.map((source) => source.close()))),
  };
}

async function weightMap(index: ByteSource): Promise<object> {
  if (index.size > maxIndexBytes) {
    throw badWeights(format, 'the file', `${index.size} bytes`, `at most ${maxIndexBytes}`);
  }
  const bytes = await index.read(0, index.size);
  let parsed: unknown = null;
  try {
    if (!isNestedDeeper(bytes, 8)) parsed = JSON.parse(new TextDecoder().decode(bytes));
  } catch (cause) {
    throw badWeights(format, 'the file', shown(cause), 'JSON', cause);
  }
  const isIndex =
    typeof parsed === 'object' && parsed !== null && Object.hasOwn(parsed, 'weight_map');
  const map: unknown = isIndex ? Reflect.get(parsed as object, 'weight_map') : null;
  if (typeof map === 'object' && map !== null && !Array.isArray(map)) return map;
  throw badWeights(format, 'weight_map', typeof map, 'file names by tensor names');
}
