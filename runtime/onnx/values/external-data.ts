import { DataError } from '../../errors/errors.ts';
import { badWeights, shown } from '../../weights/bad-file.ts';
import type { ExternalData } from './tensors.ts';

/**
 * Reads files in the folder of the model, and nothing else: names with `..`, absolute ones and links that leave the folder are a
 * DataError. So are tensors that read more of a file, all in all, than it has: sharing its parts would let a small file
 * fill the memory.
 */
export function dataBeside(folder: string): ExternalData {
  const { closeSync, openSync, readSync, realpathSync, statSync } = nodeModule('node:fs');
  const { join, sep } = nodeModule('node:path');
  const root = realpathSync(folder);
  const taken = new Map<string, number>();
  return (location, offset, length) => {
    const isInside =
      location !== '' &&
      !location.split(/[\\/]/).includes('..') &&
      !/^([\\/]|[a-zA-Z]:)|\0/.test(location);
    if (!isInside) throw outside(location);
    const where = `the file ${shown(location)}`;
    const bad = (given: string, expected: string, cause?: unknown) =>
      badWeights('onnx', where, given, expected, cause);
    let file: number | undefined;
    try {
      const path = realpathSync(join(root, location));
      if (!path.startsWith(root + sep)) throw outside(location);
      // Before it is opened: opening a pipe waits for a writer. A file of several names may lie outside of the folder, too.
      const stats = statSync(path);
      const { size } = stats;
      if (!stats.isFile() || stats.nlink > 1) throw outside(location);
      if (offset + length > size) throw bad(`${size} bytes`, `${offset + length} bytes`);
      const all = (taken.get(path) ?? 0) + length;
      if (all > size) throw bad(`tensors of ${all} bytes`, `${size} bytes, as it has`);
      taken.set(path, all);
      file = openSync(path, 'r');
      const bytes = new Uint8Array(length);
      for (let at = 0; at < length; ) {
        const count = readSync(file, bytes, at, length - at, offset + at);
        if (count === 0) throw bad(`${at} bytes`, `${length} bytes`);
        at += count;
      }
      return bytes;
    } catch (cause) {
      if (cause instanceof DataError) throw cause;
      throw bad('a file that cannot be read', 'a file beside the model', cause);
    } finally {
      if (file !== undefined) closeSync(file);
    }
  };
}

/** For a model without a folder: its weights have to be in it. */
export const noExternalData: ExternalData = (location) => {
  throw badWeights(
    'onnx',
    `the file ${shown(location)}`,
    'a model that was given as bytes',
    'the path of the model',
  );
};

function outside(location: string): Error {
  return badWeights('onnx', 'external data', shown(location), 'a file in the folder of the model');
}

function nodeModule<K extends 'node:fs' | 'node:path'>(
  name: K,
): K extends 'node:fs' ? typeof import('node:fs') : typeof import('node:path') {
  return globalThis.process.getBuiltinModule(name as 'node:fs') as never;
}
