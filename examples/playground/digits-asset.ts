import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vite';
import { packagedDirectory } from '../../runtime/data/mnist.ts';

const counts = { train: 8000, test: 2000 };
const pixels = 28 * 28;
const fileName = 'digits.bin';

/** Serves and emits a subset of MNIST, small enough for a page. */
export function digitsAsset(): Plugin {
  return {
    name: 'digits',
    configureServer({ middlewares }) {
      middlewares.use(`/${fileName}`, (_, response) => response.end(digits()));
    },
    generateBundle() {
      this.emitFile({ type: 'asset', fileName, source: digits() });
    },
  };
}

/** Counts as two little-endian integers, then images and labels of both sets. */
function digits(): Uint8Array {
  const folder = packagedDirectory();
  const part = (name: string, header: number, bytes: number) =>
    readFileSync(join(folder, name)).subarray(header, header + bytes);
  return Buffer.concat([
    Buffer.from(new Uint32Array([counts.train, counts.test]).buffer),
    part('train-images-idx3-ubyte', 16, counts.train * pixels),
    part('train-labels-idx1-ubyte', 8, counts.train),
    part('t10k-images-idx3-ubyte', 16, counts.test * pixels),
    part('t10k-labels-idx1-ubyte', 8, counts.test),
  ]);
}
