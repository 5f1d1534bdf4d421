import { badWeights, shown } from '../../weights/bad-file.ts';
import type { ExternalData } from './tensors.ts';

/**
 * Reads files in the folder of the model, and nothing else: names with `..`, absolute ones and links that leave the folder are a
 * DataError.
 */
export function dataBeside(folder: string): ExternalData {
  const { closeSync, fstatSync, openSync, readSync, realpathSync } = nodeModule('node:fs');
  const { join, sep } = nodeModule('node:path');
  const root = realpathSync(folder);
  return (location, offset, length) => {
    const isInside =
      location !== '' &&
      !location.split(/[\\/]/).includes('..') &&
      !/^([\\/]|[a-zA-Z]:)|\0/.test(location);
    if (!isInside) throw outside(location);
    let path: string;
    try {
      path = realpathSync(join(root, location));
    } catch (cause) {
      throw badWeights(
        'onnx',
        `the file ${shown(location)}`,
        'no such file',
        'a file beside the model',
        cause,
      );
    }
    if (!path.startsWith(root + sep)) throw outside(location);
    const file = openSync(path, 'r');
    try {
      const stats = fstatSync(file);
      // A file of several names may lie outside of the folder, too.
      if (!stats.isFile() || stats.nlink > 1) throw outside(location);
      if (offset + length > stats.size) {
        throw badWeights(
          'onnx',
          `the file ${shown(location)}`,
          `${stats.size} bytes`,
          `${offset + length} bytes`,
        );
      }
      const bytes = new Uint8Array(length);
      let at = 0;
      while (at < length) {
        const count = readSync(file, bytes, at, length - at, offset + at);
        if (count === 0)
          throw badWeights('onnx', `the file ${shown(location)}`, `${at} bytes`, `${length} bytes`);
        at += count;
      }
      return bytes;
    } finally {
      closeSync(file);
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
