import { DataError } from '../../errors/errors.ts';
import { badWeights, shown } from '../../weights/bad-file.ts';
import type { ExternalData } from './tensors.ts';

/**
 * Returns a reader of files in the model's folder only: names with `..`, absolute names and links out of the folder
 * throw DataError. So do tensors that together read more bytes than a file has: otherwise a small file with shared
 * parts could fill the memory.
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
      // Checked first, because opening a pipe waits for a writer. A file with several names may also be outside the
      // folder.
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

/** For a model without a folder, which must contain its weights. */
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
